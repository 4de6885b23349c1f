import type { OrgId } from '@runledger/contracts/ids';
import { Refused } from '../../door/refusal.ts';
import type { Quotas } from './quotas.ts';

/**
 * Lets an organisation begin an upload, which lasts until the result is disposed. The attempt has announced its bytes in the
 * log. @throws {Refused} with what to do: 507 ends the attempt, and after 503 the executor tries again
 */
export type AdmitUpload = (org_id: OrgId, bytes: number) => Promise<Disposable>;

export const admitUpload =
  ({ output_bytes: outputBytes, uploads }: Quotas): AdmitUpload =>
  async (org_id, bytes) => {
    if (!(await outputBytes.hasRoom(org_id, bytes))) {
      throw new Refused({
        code: 'storage_quota_reached',
        why: `With the files of this run the organisation would have more output files than its quota of ${outputBytes.limit} bytes. An operator has to raise RUNLEDGER_QUOTA_OUTPUT_BYTES of the gateway, or wait until old files expire`,
      });
    }
    if (uploads.refuses(org_id)) {
      throw new Refused({
        code: 'attempt_uploads_limited',
        why: `The organisation has ${uploads.limit} uploads in progress at this gateway, which is its limit (RUNLEDGER_QUOTA_UPLOADS). Try again`,
      });
    }
    return uploads.hold(org_id);
  };
