//! A form with one file, as `multipart/form-data`.

/// The boundary between the fields. A file that holds it is sent under a longer one.
const BOUNDARY: &str = "cordon-form-boundary";

/// The fields of a form and its file, which has a field, a name and bytes: the content type and the body.
#[must_use]
pub fn form(fields: &[(&str, String)], file: (&str, &str, &[u8])) -> (String, Vec<u8>) {
    form_of(fields, file, "application/octet-stream")
}

/// The same with a file of this media type.
#[must_use]
pub fn form_of(fields: &[(&str, String)], file: (&str, &str, &[u8]), kind: &str) -> (String, Vec<u8>) {
    let (field, name, bytes) = file;
    let mut boundary = BOUNDARY.to_owned();
    while bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes()) {
        boundary.push('x');
    }
    let mut body = Vec::new();
    for (key, value) in fields {
        let head =
            format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{key}\"\r\n\r\n{value}\r\n");
        body.extend(head.into_bytes());
    }
    let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
    let head = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
         content-type: {kind}\r\n\r\n"
    );
    body.extend(head.into_bytes());
    body.extend(bytes);
    body.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_holds_the_boundary_gets_a_longer_one() {
        let (kind, body) =
            form(&[("chat_id", "7".to_owned())], ("document", "a\".md", b"--cordon-form-boundary--"));
        assert_eq!(kind, "multipart/form-data; boundary=cordon-form-boundaryx");
        let body = String::from_utf8(body).unwrap();
        assert!(
            body.contains("filename=\"a.md\"") && body.ends_with("\r\n--cordon-form-boundaryx--\r\n"),
            "{body}"
        );
    }
}
