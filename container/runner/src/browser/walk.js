// Runs in a world of its own beside the page's script: describes one document within a budget, and keeps what can be used by number.
// A page can name a field of a form `children`, so every property is read by the getter of its interface.
function (first, lines, room, milliseconds) {
  const end = performance.now() + milliseconds;
  const getter = (type, name) => {
    const read = Object.getOwnPropertyDescriptor(type.prototype, name).get;
    return (node) => read.call(node);
  };
  const firstChild = getter(Node, 'firstChild'), nextSibling = getter(Node, 'nextSibling');
  const nodeType = getter(Node, 'nodeType'), nodeValue = getter(Node, 'nodeValue');
  const shadowRoot = getter(Element, 'shadowRoot'), localName = getter(Element, 'localName');
  const attribute = (element, name) => Element.prototype.getAttribute.call(element, name);
  const has = (element, name) => Element.prototype.hasAttribute.call(element, name);
  const find = (element, what) => Element.prototype.querySelector.call(element, what);
  const clean = (text, most) => {
    const short = text.slice(0, most * 4).replace(/[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g, ' ').trim();
    return short.length > most ? short.slice(0, most) + '…' : short;
  };
  const quoted = (text) => JSON.stringify(text);

  const out = [], refs = new Map();
  let left = room, number = first, visits = 0, cut = false, line = '';
  const put = (text) => {
    if (out.length >= lines || left < text.length + 1) { cut = true; return false; }
    left -= text.length + 1;
    out.push(text);
    return true;
  };
  const flush = () => {
    const text = clean(line, 1000);
    line = '';
    return text === '' || put('text ' + quoted(text));
  };

  // The text below a node, within a bound of characters and nodes.
  const below = (root, most) => {
    const stack = [firstChild(root)];
    let text = '', nodes = 0;
    while (stack.length > 0 && text.length < most && nodes < 300) {
      const node = stack.pop();
      if (node === null) continue;
      nodes += 1;
      stack.push(nextSibling(node));
      if (nodeType(node) === 3) text += nodeValue(node).slice(0, most * 4);
      if (nodeType(node) !== 1) continue;
      const name = localName(node);
      if (name === 'script' || name === 'style' || name === 'select') continue;
      if (name === 'img') text += ' ' + (attribute(node, 'alt') || '') + ' ';
      stack.push(firstChild(shadowRoot(node) || node));
    }
    return text;
  };
  const nameOf = (element, content) => {
    const said = attribute(element, 'aria-label');
    if (said) return clean(said, 120);
    const by = (attribute(element, 'aria-labelledby') || '').slice(0, 200).split(/\s+/).slice(0, 4);
    const root = Node.prototype.getRootNode.call(element);
    const labelled = by.map((id) => id && root.getElementById ? root.getElementById(id) : null).filter(Boolean);
    if (labelled.length > 0) return clean(labelled.map((label) => below(label, 120)).join(' '), 120);
    if (content) {
      const text = clean(below(element, 160), 120);
      if (text) return text;
    }
    const type = { input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement }[localName(element)];
    const labels = type && element instanceof type ? getter(type, 'labels')(element) : null;
    if (labels && labels.length > 0) return clean(below(labels[0], 160), 120);
    return clean(attribute(element, 'alt') || attribute(element, 'placeholder') || attribute(element, 'title')
      || attribute(element, 'name') || '', 120);
  };

  const WIDGETS = ['button', 'link', 'checkbox', 'radio', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'switch',
    'textbox', 'searchbox', 'combobox', 'listbox', 'slider', 'spinbutton', 'treeitem'];
  const KINDS = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
    range: 'slider', file: 'file', color: 'color' };
  const roleOf = (element, name, style, above) => {
    const given = (attribute(element, 'role') || '').trim().toLowerCase();
    if (name === 'input') return KINDS[getter(HTMLInputElement, 'type')(element)] || 'textbox';
    if (name === 'select') return 'select';
    if (name === 'textarea') return 'textbox';
    if (WIDGETS.includes(given)) return given;
    if (name === 'button' || name === 'summary') return 'button';
    if (name === 'a' && has(element, 'href')) return 'link';
    if (element instanceof HTMLElement && getter(HTMLElement, 'contentEditable')(element) === 'true') return 'textbox';
    if (has(element, 'onclick') || (has(element, 'tabindex') && attribute(element, 'tabindex') !== '-1')) return 'clickable';
    return style.cursor === 'pointer' && above !== 'pointer' && name !== 'label' ? 'clickable' : '';
  };
  const stateOf = (element, name, role) => {
    let state = '';
    if (role === 'link') state += ' ' + clean(attribute(element, 'href') || '', 160);
    if (name === 'input' && role === 'textbox' || name === 'textarea') {
      const type = name === 'input' ? getter(HTMLInputElement, 'type')(element) : 'text';
      const value = getter(name === 'input' ? HTMLInputElement : HTMLTextAreaElement, 'value')(element);
      if (type !== 'text') state += ' ' + type;
      state += type === 'password' ? (value ? ' filled' : ' empty') : ' = ' + quoted(clean(value, 120));
    }
    if (name === 'input' && (role === 'checkbox' || role === 'radio')) {
      state += getter(HTMLInputElement, 'checked')(element) ? ' checked' : '';
    } else if (has(element, 'aria-checked')) state += attribute(element, 'aria-checked') === 'true' ? ' checked' : '';
    if (name === 'select') {
      const options = getter(HTMLSelectElement, 'options')(element);
      const labels = [], chosen = [];
      for (let at = 0; at < options.length && at < 30; at += 1) {
        const label = clean(getter(HTMLOptionElement, 'label')(options[at]), 60);
        labels.push(label);
        if (getter(HTMLOptionElement, 'selected')(options[at])) chosen.push(label);
      }
      state += ' = ' + quoted(chosen.join(', ')) + ' of ' + quoted(labels.join(', ') + (options.length > 30 ? ', …' : ''));
    }
    if (has(element, 'disabled')) state += ' disabled';
    if (attribute(element, 'aria-expanded') === 'true') state += ' expanded';
    return state;
  };

  const SKIPPED = ['script', 'style', 'noscript', 'template', 'head', 'svg', 'math', 'canvas', 'object', 'datalist'];
  const stack = [{ node: document.documentElement, cursor: '' }];
  while (stack.length > 0 && !cut) {
    const top = stack.pop();
    if (top.flush) { flush(); continue; }
    const node = top.node;
    if (node === null || node === undefined) continue;
    visits += 1;
    if (visits > 30000 || (visits % 64 === 0 && performance.now() > end)) { cut = true; break; }
    if (!top.alone) stack.push({ node: nextSibling(node), cursor: top.cursor });
    if (nodeType(node) === 3) {
      if (!top.hidden && line.length < 4000) line += nodeValue(node).slice(0, 4000);
      continue;
    }
    if (nodeType(node) !== 1) continue;
    const name = localName(node);
    if (SKIPPED.includes(name)) continue;
    if (name === 'br') { flush(); continue; }
    const style = getComputedStyle(node);
    if (style.display === 'none') continue;
    const block = style.display !== 'contents' && !style.display.startsWith('inline');
    if (block) { flush(); stack.push({ flush: true }); }
    const visible = style.visibility === 'visible';
    const role = visible ? roleOf(node, name, style, top.cursor) : '';
    if (role !== '') {
      flush();
      const inner = role === 'clickable' && find(node, 'a,button,input,select,textarea,[role]') !== null;
      const said = inner ? '' : ' ' + quoted(nameOf(node, name !== 'input' && name !== 'textarea' && name !== 'select'));
      if (!put('[' + number + '] ' + role + said + stateOf(node, name, role))) break;
      refs.set(number, node);
      number += 1;
      if (!inner) continue;
    } else if (/^h[1-6]$/.test(name)) {
      flush();
      const inner = find(node, 'a,button,input,[role]') !== null;
      if (!inner) {
        if (visible) put('heading ' + name[1] + ' ' + quoted(clean(below(node, 300), 200)));
        continue;
      }
    } else if (name === 'img') {
      const alt = clean(attribute(node, 'alt') || '', 120);
      if (visible && alt) { flush(); put('image ' + quoted(alt)); }
      continue;
    } else if (name === 'iframe' || name === 'frame') {
      flush();
      put('frame ' + quoted(clean(attribute(node, 'title') || attribute(node, 'name') || '', 60)) + ', shown below');
      continue;
    }
    const slotted = name === 'slot' ? HTMLSlotElement.prototype.assignedNodes.call(node).slice(0, 2000) : [];
    if (slotted.length > 0) {
      for (const child of slotted.reverse()) stack.push({ node: child, cursor: style.cursor, alone: true, hidden: !visible });
      continue;
    }
    const child = firstChild(shadowRoot(node) || node);
    stack.push({ node: child, cursor: style.cursor, hidden: !visible });
  }
  if (!cut) flush();
  globalThis.cordonElements = refs;
  return { text: out.join('\n'), lines: out.length, next: number, cut };
}
