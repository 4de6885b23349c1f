const CONTENT_TYPE =
  /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,127}(?:; ?[\w-]{1,32}=(?:[\w.+-]{1,64}|"[\w.+ -]{1,64}"))*$/;

/** The type that a file is stored with. */
export const contentTypeIn = (text: string): string =>
  CONTENT_TYPE.test(text) ? text.toLowerCase() : 'application/octet-stream';
