/** What `mimetypes` of Python makes of the usual extensions, and back. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/json': '.json',
  'application/octet-stream': '.bin',
  'application/pdf': '.pdf',
  'application/x-tar': '.tar',
  'application/zip': '.zip',
  'audio/flac': '.flac',
  'audio/mp4': '.m4a',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/wav': '.wav',
  'audio/x-wav': '.wav',
  'image/avif': '.avif',
  'image/bmp': '.bmp',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/jpg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/tiff': '.tif',
  'image/webp': '.webp',
  'model/gltf-binary': '.glb',
  'model/gltf+json': '.gltf',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/markdown': '.md',
  'text/plain': '.txt',
  'video/mp4': '.mp4',
  'video/quicktime': '.mov',
  'video/webm': '.webm',
  'video/x-matroska': '.mkv',
};

/** The extension of a file of this MIME type, with its dot. A type without one of its own is named by its second half; none has none. */
export const extensionOf = (type: string): string => {
  if (Object.hasOwn(EXTENSIONS, type)) return EXTENSIONS[type] ?? '';
  if (type === '') return '';
  const [, word = ''] = /^[\w.+-]+\/(?:x-)?([a-z0-9]{1,16})$/.exec(type) ?? [];
  return word === '' ? '.bin' : `.${word}`;
};
