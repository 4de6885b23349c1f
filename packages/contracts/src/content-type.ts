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
export const extensionOf = (contentType: string): string | undefined => {
  const wanted = mimeOf(contentType);
  for (const [extension, type] of CONTENT_TYPES) if (mimeOf(type) === wanted) return extension;
  return undefined;
};

/** Without its parameters. */
const mimeOf = (contentType: string): string => contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
