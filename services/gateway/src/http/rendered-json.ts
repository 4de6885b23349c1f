import etag from 'etag';

/** A response that was written as JSON before, with its entity tag. */
export class RenderedJson {
  readonly text: string;
  readonly tag: string;
  /** Of the text, in UTF-8. */
  readonly bytes: number;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
    this.bytes = Buffer.byteLength(this.text);
    this.tag = etag(this.text);
  }
}
