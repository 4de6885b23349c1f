import { MAX_FILENAME } from './limits.ts';

/** Bytes of a name: with a number before its extension it fits every file system. */
const MAX_NAME_BYTES = 180;
const MAX_EXTENSION = 16;

/** Names of devices on Windows, with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;
const OTHERS = /[^\p{L}\p{M}\p{N}._ -]/gu;

/**
 * A name for a file that somebody else named: one part of a path on every system, visible, and no option of a program. It keeps
 * the extension, and gets that of the type without one.
 */
export const safeFileName = (text: string, contentType = ''): string => {
  const last = text.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const cleaned = last
    .replaceAll(OTHERS, '_')
    .replace(/^[.\s-]+/, '')
    .replace(/[.\s]+$/, '');
  const named = cleaned === '' ? 'file' : cleaned;
  const [stem, given] = cutExtension(named);
  const extension = given ?? extensionOf(contentType) ?? '';
  const name = `${beginning(stem, MAX_NAME_BYTES - bytesOf(extension)).trimEnd()}${extension}`;
  return RESERVED.test(name) ? `_${name}` : name;
};

/**
 * Why an output file cannot be stored, shown or requested under this name, as what follows "its name"; null when it can. A program
 * chooses it, and a person sees it: marks that change the direction of text make it look like another one.
 */
export const problemOfFileName = (name: string): string | null => {
  if (name === '' || name === '.' || name === '..') return 'names no file';
  if (name.length > MAX_FILENAME) return `is longer than ${MAX_FILENAME} characters`;
  if (/[/\\]/.test(name)) return 'holds a slash or a backslash';
  // Node reads what is not UTF-8 as U+FFFD.
  if (/[\p{Cc}\u2028\u2029\uFFFD]/u.test(name) || !name.isWellFormed())
    return 'holds control characters or is not valid Unicode';
  return /\p{Bidi_Control}/u.test(name) ? 'holds marks that change the direction of text' : null;
};

/** The same name with a number before its extension. */
export const numberedFileName = (name: string, number: number): string => {
  const [stem, extension = ''] = cutExtension(name);
  return `${stem}-${number}${extension}`;
};

/** The extension has its point. */
const cutExtension = (name: string): readonly [stem: string, extension: string | undefined] => {
  const at = name.lastIndexOf('.');
  const extension = name.slice(at + 1);
  return at > 0 && /^[A-Za-z0-9]+$/.test(extension) && extension.length <= MAX_EXTENSION
    ? [name.slice(0, at), name.slice(at)]
    : [name, undefined];
};

const beginning = (text: string, maxBytes: number): string => {
  let left = maxBytes;
  const characters = Array.from(text);
  const over = characters.findIndex((character) => (left -= bytesOf(character)) < 0);
  return over === -1 ? text : characters.slice(0, over).join('');
};

const utf8 = new TextEncoder();
const bytesOf = (text: string): number => utf8.encode(text).byteLength;

/** The first extension of a type is the one that a file gets. */
const CONTENT_TYPES = new Map([
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.gif', 'image/gif'],
  ['.avif', 'image/avif'],
  ['.svg', 'image/svg+xml'],
  ['.tif', 'image/tiff'],
  ['.tiff', 'image/tiff'],
  ['.bmp', 'image/bmp'],
  ['.exr', 'image/x-exr'],
  ['.mp4', 'video/mp4'],
  ['.webm', 'video/webm'],
  ['.mov', 'video/quicktime'],
  ['.mkv', 'video/x-matroska'],
  ['.mp3', 'audio/mpeg'],
  ['.wav', 'audio/wav'],
  ['.flac', 'audio/flac'],
  ['.ogg', 'audio/ogg'],
  ['.opus', 'audio/opus'],
  ['.m4a', 'audio/mp4'],
  ['.txt', 'text/plain; charset=utf-8'],
  ['.log', 'text/plain; charset=utf-8'],
  ['.csv', 'text/csv; charset=utf-8'],
  ['.md', 'text/markdown; charset=utf-8'],
  ['.json', 'application/json'],
  ['.pdf', 'application/pdf'],
  ['.zip', 'application/zip'],
  ['.glb', 'model/gltf-binary'],
  ['.gltf', 'model/gltf+json'],
]);

/** The MIME type of a file by its extension; `application/octet-stream` for an unknown one. */
export const contentTypeOf = (filename: string): string =>
  CONTENT_TYPES.get(filename.slice(filename.lastIndexOf('.')).toLowerCase()) ?? 'application/octet-stream';

/** The extension of files of a type, with its point; undefined for an unknown one. */
const extensionOf = (contentType: string): string | undefined => {
  const wanted = mimeOf(contentType);
  for (const [extension, type] of CONTENT_TYPES) if (mimeOf(type) === wanted) return extension;
  return undefined;
};

/** Without its parameters. */
const mimeOf = (contentType: string): string => contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
