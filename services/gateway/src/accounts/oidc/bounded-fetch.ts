import type { CustomFetch } from 'openid-client';

/** Documents of providers have a few KiB. */
const MAX_BYTES = 512 * 1024;

/** Fetches what a provider answers. @throws TypeError, as for a failed connection, when it is more than 512 KiB */
export const boundedFetch: CustomFetch = async (url, options) => {
  const { body = null } = options;
  const response = await fetch(url, { ...options, body });
  const { status, statusText, headers } = response;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new TypeError(`${url} answered with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(chunks.length === 0 ? null : new Blob(chunks), { status, statusText, headers });
};
