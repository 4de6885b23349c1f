import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementsOf, escaped, textOf } from '../../../src/files/stores/s3-requests.ts';

const LIST = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><KeyCount>2</KeyCount>
<Contents><Key>outputs/a/content</Key><Size>1</Size></Contents><Contents><Key>outputs/a/description</Key></Contents>
<NextContinuationToken>1&amp;2&#43;&#x2F;==</NextContinuationToken></ListBucketResult>`;

describe('the answers of S3', () => {
  it('have the values of elements, in order', () => {
    expect(elementsOf(LIST, 'Contents').map((listed) => textOf(listed, 'Key'))).toEqual([
      'outputs/a/content',
      'outputs/a/description',
    ]);
    expect(textOf(LIST, 'NextContinuationToken')).toBe('1&2+/==');
    expect(elementsOf(LIST, 'Upload')).toEqual([]);
    expect(textOf(LIST, 'UploadId')).toBeUndefined();
  });

  it('may be cut off, or anything else', () => {
    expect(elementsOf('<Key>a</Key><Key>b', 'Key')).toEqual(['a']);
    expect(textOf('<Code>&#x110000;&nope;</Code>', 'Code')).toBe('&#x110000;&nope;');
    fc.assert(fc.property(fc.string(), (text) => elementsOf(text, 'Key').length >= 0));
  });

  it('have any text that was escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(textOf(`<ETag>${escaped(text)}</ETag>`, 'ETag')).toBe(text);
      }),
    );
  });
});
