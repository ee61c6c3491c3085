//! Acts on one element that has a number: where it is, and what it takes.

use super::protocol::{CallFault, Client};
use super::snapshot::{Numbered, TIME};
use ipc_proto::Text;
use ipc_proto::browser::BrowserError;
use serde::Deserialize;
use serde_json::{Value, json};

/// The element of a number, if it is still part of the page.
const TAKE: &str = "function (number) { const found = globalThis.cordonElements?.get(number); \
    return found && found.isConnected ? found : null; }";
/// The part of an element that is clicked: its label where it has no place of its own. Links and forms stay in this tab.
const AIM: &str = "function () {
    for (const around of [this.closest('a[target]'), this.closest('area[target]'), this.form]) {
        if (around instanceof Element) Element.prototype.removeAttribute.call(around, 'target');
    }
    if (this.hasAttribute('formtarget')) this.removeAttribute('formtarget');
    const place = this.getBoundingClientRect();
    return (place.width < 2 || place.height < 2) && this.labels?.length > 0 ? this.labels[0] : this; }";
/// Returns whether what lies at a place belongs to the element.
const HIT: &str = "function (hit) {
    for (let node = hit; node; node = node.parentNode || node.host) if (node === this) return true;
    const label = hit instanceof Element ? hit.closest('label') : null;
    return label !== null && label.control === this; }";
/// Makes ready for a text: empty if it may be typed, else why not; `set` if it was put in by itself.
const FOCUS: &str = "function (text) {
    const editable = this.isContentEditable;
    if (!editable && !(this instanceof HTMLInputElement) && !(this instanceof HTMLTextAreaElement)) return 'it takes no text';
    if (!editable && (this.disabled || this.readOnly)) return 'it cannot be changed now';
    const type = editable ? 'text' : this.type;
    if (['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file', 'hidden'].includes(type)) return 'it takes no text';
    this.focus();
    if (['date', 'time', 'month', 'week', 'datetime-local', 'range', 'color'].includes(type)) {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, text);
        for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true, composed: true }));
        return 'set';
    }
    if (editable) getSelection().selectAllChildren(this); else this.select();
    return ''; }";
/// Chooses options by value or label: empty, or why not.
const CHOOSE: &str = "function (values) {
    if (!(this instanceof HTMLSelectElement)) return 'it has no options';
    if (this.disabled) return 'it cannot be changed now';
    if (values.length > 1 && !this.multiple) return 'it takes one option';
    const chosen = values.map((value) => [...this.options].find((option) => !option.disabled
        && (option.value === value || option.label.trim() === value.trim())));
    if (chosen.includes(undefined)) return 'it has no such option';
    for (const option of this.options) option.selected = chosen.includes(option);
    for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true, composed: true }));
    return ''; }";

/// An element in the shell's hands.
pub(super) struct Element<'a> {
    client: &'a Client,
    object: String,
    world: u64,
    frame: &'a str,
}

#[derive(Deserialize)]
struct Returned {
    result: Object,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    object_id: Option<String>,
    value: Option<Value>,
}

#[derive(Deserialize)]
struct Quads {
    quads: Vec<[f64; 8]>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hit {
    backend_node_id: u64,
    frame_id: String,
}

#[derive(Deserialize)]
struct Resolved {
    object: Object,
}

/// The element of this number.
pub(super) async fn find<'a>(
    client: &'a Client,
    numbered: &'a [Numbered],
    number: u32,
) -> Result<Element<'a>, BrowserError> {
    let of = numbered.iter().find(|of| of.numbers.contains(&number)).ok_or(BrowserError::StaleRef)?;
    let params = json!({"functionDeclaration": TAKE, "executionContextId": of.world,
        "arguments": [{"value": number}]});
    let returned: Returned = client.call("Runtime.callFunctionOn", params, TIME).await.map_err(stale)?;
    let object = returned.result.object_id.ok_or(BrowserError::StaleRef)?;
    Ok(Element { client, object, world: of.world, frame: &of.frame })
}

/// A call that the page refused was of an element that is gone.
fn stale(fault: CallFault) -> BrowserError {
    match fault {
        CallFault::Refused => BrowserError::StaleRef,
        other => other.into(),
    }
}

impl Element<'_> {
    /// Its middle in the window, scrolled to, with nothing else lying there.
    pub(super) async fn place(&self) -> Result<(f64, f64), BrowserError> {
        let aimed = self.on(AIM, json!([]), false).await?.object_id.ok_or(BrowserError::StaleRef)?;
        let object = json!({"objectId": aimed});
        let covered = |fault| match fault {
            CallFault::Refused => BrowserError::Covered,
            other => BrowserError::from(other),
        };
        let _: Value =
            self.client.call("DOM.scrollIntoViewIfNeeded", object.clone(), TIME).await.map_err(covered)?;
        let quads: Quads = self.client.call("DOM.getContentQuads", object, TIME).await.map_err(covered)?;
        let (x, y) = quads.quads.iter().find_map(middle).ok_or(BrowserError::Covered)?;
        if self.is_at(&aimed, x, y).await.map_err(covered)? { Ok((x, y)) } else { Err(BrowserError::Covered) }
    }

    /// Returns whether a click there reaches `aimed`, in the same frame: a page may lay one frame over another.
    async fn is_at(&self, aimed: &str, x: f64, y: f64) -> Result<bool, CallFault> {
        #[expect(clippy::cast_possible_truncation, reason = "a place in a window")]
        let params = json!({"x": x as i32, "y": y as i32, "includeUserAgentShadowDOM": false});
        let hit: Hit = self.client.call("DOM.getNodeForLocation", params, TIME).await?;
        if hit.frame_id != self.frame {
            return Ok(false);
        }
        let params = json!({"backendNodeId": hit.backend_node_id, "executionContextId": self.world});
        let resolved: Resolved = self.client.call("DOM.resolveNode", params, TIME).await?;
        let params = json!({"functionDeclaration": HIT, "objectId": aimed, "returnByValue": true,
            "arguments": [{"objectId": resolved.object.object_id}]});
        let returned: Returned = self.client.call("Runtime.callFunctionOn", params, TIME).await?;
        Ok(returned.result.value == Some(Value::Bool(true)))
    }

    /// Makes it ready for a text. Returns false if the text is in it already.
    pub(super) async fn focus(&self, text: &str) -> Result<bool, BrowserError> {
        match self.said(FOCUS, json!([{"value": text}])).await?.as_str() {
            "" => Ok(true),
            "set" => Ok(false),
            why => Err(BrowserError::Unfit(Text::clip(why))),
        }
    }

    /// Chooses options.
    pub(super) async fn choose(&self, values: &[&str]) -> Result<(), BrowserError> {
        match self.said(CHOOSE, json!([{"value": values}])).await?.as_str() {
            "" => Ok(()),
            why => Err(BrowserError::Unfit(Text::clip(why))),
        }
    }

    async fn said(&self, function: &str, arguments: Value) -> Result<String, BrowserError> {
        let value = self.on(function, arguments, true).await?.value;
        value.and_then(|value| value.as_str().map(str::to_owned)).ok_or(BrowserError::StaleRef)
    }

    async fn on(&self, function: &str, arguments: Value, by_value: bool) -> Result<Object, BrowserError> {
        let params = json!({"functionDeclaration": function, "objectId": self.object, "arguments": arguments,
            "returnByValue": by_value});
        let returned: Returned =
            self.client.call("Runtime.callFunctionOn", params, TIME).await.map_err(stale)?;
        Ok(returned.result)
    }
}

/// The middle of a quadrilateral; none if it has no area.
fn middle(quad: &[f64; 8]) -> Option<(f64, f64)> {
    let [x1, y1, x2, y2, x3, y3, x4, y4] = *quad;
    let area = ((x3 - x1) * (y4 - y2) - (x4 - x2) * (y3 - y1)).abs() / 2.0;
    (area > 1.0).then(|| ((x1 + x2 + x3 + x4) / 4.0, (y1 + y2 + y3 + y4) / 4.0))
}
