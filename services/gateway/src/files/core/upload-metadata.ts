/** What a client says about a file in the header `Upload-Metadata` of tus 1.0: names, each with its value in base64. */
export interface UploadMetadata {
  readonly filename: string;
  readonly content_type: string;
}

/** Undefined for a text that is not in the form of tus. */
export const readUploadMetadata = (
  text: string,
  decode: (base64: string) => string,
): UploadMetadata | undefined => {
  const values = new Map<string, string>();
  for (const pair of text.split(',').map((each) => each.trim())) {
    if (pair === '') continue;
    const [, name = '', value = ''] = /^([^\s,]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/.exec(pair) ?? [];
    if (name === '') return undefined;
    values.set(name, decode(value));
  }
  return {
    filename: values.get('filename') ?? values.get('name') ?? '',
    content_type: values.get('filetype') ?? values.get('type') ?? '',
  };
};
