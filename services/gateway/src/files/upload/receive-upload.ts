import { orgId } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { Refused } from '../../http/refusal.ts';
import { OutputStoreFull } from '../../outputs/store/output-store.ts';
import type { Quotas } from '../../quotas/quotas.ts';
import { offsetOf, type Upload } from '../store/file-records.ts';
import { receiveBytes, type Received, type ReceiveBytes } from './receive-bytes.ts';

export interface ReceiveUpload extends ReceiveBytes {
  readonly quotas: Pick<Quotas, 'uploads'>;
  readonly onUploaded: (bytes: number) => void;
}

/** Stores the bytes of a request. @throws {Refused} @throws as `receiveBytes` does */
export const receiveUpload = async (
  options: ReceiveUpload,
  upload: Entry<Upload>,
  body: AsyncIterable<Uint8Array>,
): Promise<Extract<Received, { kind: 'received' }>> => {
  const { uploads } = options.quotas;
  const org_id = orgId(upload.value.org_id);
  if (uploads.refuses(org_id))
    throw new Refused({
      code: 'too_many_uploads',
      why: `The organisation has ${uploads.limit} uploads in progress at this gateway, which is its limit (RUNLEDGER_QUOTA_UPLOADS). Try again`,
    });
  using open = new DisposableStack();
  open.use(uploads.hold(org_id));
  const received = await receiveBytes(options, upload, body).catch(refuseWhenFull);
  switch (received.kind) {
    case 'received':
      options.onUploaded(offsetOf(received.upload.value) - offsetOf(upload.value));
      return received;
    case 'busy':
      throw new Refused({
        code: 'upload_busy',
        why: 'Another request stores bytes of this upload: continue when it has ended, where the upload then is',
      });
    case 'too_many_parts':
      throw new Refused({
        code: 'upload_interrupted_too_often',
        why: 'This upload was interrupted too often: begin another one',
      });
  }
};

const refuseWhenFull = (error: unknown): never => {
  throw error instanceof OutputStoreFull
    ? new Refused({ code: 'output_store_full', why: error.message })
    : error;
};
