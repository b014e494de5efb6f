/**
 * By names in directories, else by first bytes. `http-api-completion.md` 3.7 and 5.3; signatures: WHATWG MIME Sniffing, 7.
 */

export const SNIFF_SIZE = 512;

/**
 * The list of Go 1.26, which a Bee's official image uses: types are stored in manifests, so another list would change
 * references.
 */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/gzip': 'gz',
  'application/json': 'json',
  'application/msword': 'doc',
  'application/octet-stream': 'bin com exe',
  'application/pdf': 'pdf',
  'application/postscript': 'ai eps ps',
  'application/rdf+xml': 'rdf',
  'application/rtf': 'rtf',
  'application/vnd.android.package-archive': 'apk',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/wasm': 'wasm',
  'application/xhtml+xml': 'xht xhtml',
  'application/zip': 'zip',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'oga ogg opus',
  'audio/wav': 'wav',
  'audio/webm': 'webm',
  'image/apng': 'apng',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/gif': 'gif',
  'image/jpeg': 'jfif jpeg jpg pjp pjpeg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/tiff': 'tif tiff',
  'image/vnd.microsoft.icon': 'ico',
  'image/webp': 'webp',
  'image/x-xbitmap': 'xbm',
  'message/rfc822': 'eml',
  'text/calendar; charset=utf-8': 'ics',
  'text/css; charset=utf-8': 'css',
  'text/csv; charset=utf-8': 'csv',
  'text/html; charset=utf-8': 'ehtml htm html shtml',
  'text/javascript; charset=utf-8': 'js mjs',
  'text/plain; charset=utf-8': 'text txt',
  'text/vtt; charset=utf-8': 'vtt',
  'text/xml; charset=utf-8': 'xbl xml xsl',
  'video/mp4': 'mp4',
  'video/ogg': 'ogv',
};

const BY_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries(EXTENSIONS).flatMap(([type, extensions]) =>
    extensions.split(' ').map((extension) => [extension, type] as const),
  ),
);

/** Empty without a known extension. */
export function contentTypeOfName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  const extension = dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
  return BY_EXTENSION.get(extension) ?? '';
}

interface Signature {
  readonly type: string;
  readonly at?: number;
  /** One character per byte. */
  readonly bytes: string;
  /** If the pattern is longer than the compared part. */
  readonly least?: number;
  /** A second pattern after the first. */
  readonly and?: { readonly at: number; readonly bytes: string };
}

const SIGNATURES: readonly Signature[] = [
  { type: 'application/pdf', bytes: '%PDF-' },
  { type: 'application/postscript', bytes: '%!PS-Adobe-' },
  { type: 'text/plain; charset=utf-16be', bytes: '\xfe\xff', least: 4 },
  { type: 'text/plain; charset=utf-16le', bytes: '\xff\xfe', least: 4 },
  { type: 'text/plain; charset=utf-8', bytes: '\xef\xbb\xbf', least: 4 },
  { type: 'image/x-icon', bytes: '\0\0\x01\0' },
  { type: 'image/x-icon', bytes: '\0\0\x02\0' },
  { type: 'image/bmp', bytes: 'BM' },
  { type: 'image/gif', bytes: 'GIF87a' },
  { type: 'image/gif', bytes: 'GIF89a' },
  { type: 'image/webp', bytes: 'RIFF', and: { at: 8, bytes: 'WEBPVP' } },
  { type: 'image/png', bytes: '\x89PNG\r\n\x1a\n' },
  { type: 'image/jpeg', bytes: '\xff\xd8\xff' },
  { type: 'audio/aiff', bytes: 'FORM', and: { at: 8, bytes: 'AIFF' } },
  { type: 'audio/mpeg', bytes: 'ID3' },
  { type: 'application/ogg', bytes: 'OggS\0' },
  { type: 'audio/midi', bytes: 'MThd\0\0\0\x06' },
  { type: 'video/avi', bytes: 'RIFF', and: { at: 8, bytes: 'AVI ' } },
  { type: 'audio/wave', bytes: 'RIFF', and: { at: 8, bytes: 'WAVE' } },
  { type: 'video/webm', bytes: '\x1a\x45\xdf\xa3' },
  { type: 'application/vnd.ms-fontobject', at: 34, bytes: 'LP' },
  { type: 'font/ttf', bytes: '\0\x01\0\0' },
  { type: 'font/otf', bytes: 'OTTO' },
  { type: 'font/collection', bytes: 'ttcf' },
  { type: 'font/woff', bytes: 'wOFF' },
  { type: 'font/woff2', bytes: 'wOF2' },
  { type: 'application/x-gzip', bytes: '\x1f\x8b\x08' },
  { type: 'application/zip', bytes: 'PK\x03\x04' },
  { type: 'application/x-rar-compressed', bytes: 'Rar!\x1a\x07\0' },
  { type: 'application/x-rar-compressed', bytes: 'Rar!\x1a\x07\x01\0' },
  { type: 'application/wasm', bytes: '\0asm' },
];

/** HTML tags after white space, without case, before a space or bracket. */
const HTML =
  /^[\t\n\f\r ]*<(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE|TITLE|B|BODY|BR|P|!--)[ >]/i;
const XML = /^[\t\n\f\r ]*<\?xml/;
const TEXT_CONTROLS = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];

/** @param start at most `SNIFF_SIZE` bytes are looked at */
export function sniffContentType(start: Uint8Array): string {
  const bytes = start.subarray(0, SNIFF_SIZE);
  const text = Buffer.from(bytes).toString('latin1');
  if (HTML.test(text)) return 'text/html; charset=utf-8';
  if (XML.test(text)) return 'text/xml; charset=utf-8';
  const found = SIGNATURES.find((signature) => matches(text, signature));
  if (found !== undefined) return found.type;
  if (isMp4(text)) return 'video/mp4';
  const isText = bytes.every((byte) => byte >= 0x20 || TEXT_CONTROLS.includes(byte));
  return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

function matches(text: string, { at = 0, bytes, least = 0, and }: Signature): boolean {
  if (text.length < least) return false;
  return text.startsWith(bytes, at) && (and === undefined || text.startsWith(and.bytes, and.at));
}

/** An `ftyp` box with a major or compatible brand `mp4…`. */
function isMp4(text: string): boolean {
  if (text.length < 12 || !text.startsWith('ftyp', 4)) return false;
  const size = Buffer.from(text.slice(0, 4), 'latin1').readUInt32BE();
  if (size % 4 !== 0 || size > text.length) return false;
  // At 12 stands the minor version.
  for (let at = 8; at < size; at += 4) if (at !== 12 && text.startsWith('mp4', at)) return true;
  return false;
}
