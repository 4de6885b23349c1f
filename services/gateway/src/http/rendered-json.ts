import { withLongIntegersAsTexts } from '@runledger/contracts/numbers/long-integers';
import etag from 'etag';

/** A response that was written as JSON before, with its entity tag. */
export class RenderedJson {
  readonly text: string;
  /** With the numbers that `text` has as strings. */
  readonly exact: string;
  readonly tag: string;
  /** Of the text, in UTF-8. */
  readonly bytes: number;

  constructor(value: unknown) {
    this.exact = JSON.stringify(value);
    this.text = withLongIntegersAsTexts(this.exact);
    this.bytes = Buffer.byteLength(this.text);
    this.tag = etag(this.text);
  }
}
