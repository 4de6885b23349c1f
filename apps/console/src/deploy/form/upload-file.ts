import { ApiError, Runledger, type UploadedFile } from '@runledger/client';
import { API } from '../../api/client.ts';
import { Refused } from '../../api/refused.ts';

/** The client gives an address without a base path one, and a gateway may have none. */
const CLIENTS_URL = `${window.location.origin}/api`;

/** The cookie of the session says who uploads. */
const client = new Runledger({
  url: CLIENTS_URL,
  apiKey: null,
  fetch: (address, init) => fetch(`${API}${new Request(address).url.slice(CLIENTS_URL.length)}`, init),
});

/** Uploads a file, in pieces when it is large: what a lost connection has taken is sent again. @throws {Refused} */
export const uploadFile = async (file: File): Promise<UploadedFile> => {
  try {
    return await client.files.upload(file);
  } catch (error) {
    throw error instanceof ApiError ? refusedAs(error) : error;
  }
};

const refusedAs = (error: ApiError): Refused => {
  const { status, detail, code, requestId } = error;
  const refusal = { detail, code: code ?? 'unknown', ...(requestId !== null && { request_id: requestId }) };
  return new Refused(refusal, status, { cause: error });
};
