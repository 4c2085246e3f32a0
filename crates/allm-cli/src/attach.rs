//! Files that go along with a message.

use std::io::Read as _;
use std::path::Path;

use allm::{File, FilePart, Image, Part};

use crate::problem::Problem;

/// How long a file may be. Every provider takes less.
const MAX_BYTES: u64 = 50 * 1024 * 1024;

/// What the first bytes of a file say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Picture(&'static str),
    Pdf,
    Unknown,
}

/// A file as a part of a message: text with its name, a picture, a PDF.
pub(crate) fn part(path: &Path) -> Result<Part, Problem> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => format!("the file {shown} is not there"),
            std::io::ErrorKind::IsADirectory => format!("{shown} is a folder"),
            _ => format!("{shown} cannot be read: {error}"),
        };
        Problem::usage(what).advice("name a file with -a")
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // A pipe has no length to be asked for, so what is read is counted.
    let mut bounded = file.take(MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        let what = format!("{shown} has more than {MAX_BYTES} bytes");
        return Err(Problem::usage(what).advice("attach a part of it"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    match kind(&bytes) {
        Kind::Picture(mime) => Ok(Part::image(Image::from_bytes(bytes, mime))),
        Kind::Pdf => Ok(Part::File(FilePart {
            file: Box::new(File::from_bytes(bytes, "application/pdf")),
            name: Some(name),
        })),
        Kind::Unknown => match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Part::text(inlined(&name, &text))),
            _ => {
                let what = format!("{shown} is neither text nor a picture nor a PDF");
                Err(Problem::usage(what)
                    .advice("attach text in UTF-8, PNG, JPEG, GIF, WebP or PDF"))
            }
        },
    }
}

fn kind(bytes: &[u8]) -> Kind {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Kind::Picture("image/png"),
        [0xff, 0xd8, 0xff, ..] => Kind::Picture("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Kind::Picture("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Kind::Picture("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Kind::Pdf,
        _ => Kind::Unknown,
    }
}

/// A text with its name around it, so that the model can tell files from the question and from each other.
fn inlined(name: &str, text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let name = name.replace(['"', '\n'], "'");
    format!("<file name=\"{name}\">\n{text}{end}</file>")
}
