import { ApiError, type UploadedFile } from '@runledger/client';
import { Refused } from '../../api/refused.ts';
import { runledger } from '../../api/runledger.ts';

/** Of the uploads that are under way. */
export const UPLOADS = ['uploads'];

/** Uploads a file, in pieces when it is large: what a lost connection has taken is sent again. @throws {Refused} */
export const uploadFile = async (file: File): Promise<UploadedFile> => {
  try {
    return await runledger.files.upload(file);
  } catch (error) {
    throw error instanceof ApiError ? refusedAs(error) : error;
  }
};

const refusedAs = (error: ApiError): Refused => {
  const { status, detail, code, requestId } = error;
  const refusal = { detail, code: code ?? 'unknown', ...(requestId !== null && { request_id: requestId }) };
  return new Refused(refusal, status, { cause: error });
};
