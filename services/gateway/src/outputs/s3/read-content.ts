import { within } from '@runledger/resilience/within';
import type { ByteSpan } from '../core/byte-range.ts';
import { S3Unreachable, type S3Requests } from './s3-requests.ts';

/** For the next bytes of a body, when the caller wants them. */
const BYTES_WITHIN_MS = 30_000;

/** A part of an object, as fast as the caller reads. @throws {S3Unreachable} also when the object is shorter */
export async function* readContent(
  { read }: Pick<S3Requests, 'read'>,
  name: string,
  { first, last }: ByteSpan,
): AsyncGenerator<Uint8Array> {
  let remaining = last + 1 - first;
  if (remaining <= 0) return;
  const { headers, body } = await read({ method: 'GET', name, headers: { range: `bytes=${first}-${last}` } });
  const reader = body.getReader();
  try {
    if (Number(headers.get('content-length')) !== remaining)
      throw new S3Unreachable('the file has another length than it had');
    while (remaining > 0) {
      const { value, done } = await within(BYTES_WITHIN_MS, reader.read(), () => {
        throw new S3Unreachable(`it sent nothing for ${BYTES_WITHIN_MS / 1_000} s`);
      });
      if (done) throw new S3Unreachable('it ended the file too early');
      remaining -= value.byteLength;
      yield value;
    }
  } finally {
    // Also when the caller stops in between: the connection is free again, or closed.
    await reader.cancel().catch(() => undefined);
  }
}
