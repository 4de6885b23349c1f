import { OutputStoreFull, OutputStoreUnavailable } from '../store/output-store.ts';
import { S3Failure } from './s3-requests.ts';
import type { S3Bucket } from './s3-settings.ts';

/** What stores say when a bucket, a disk or a quota is full: Ceph and others, MinIO. */
const FULL = new Set([
  'QuotaExceeded',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
  'InsufficientStorage',
  'InsufficientCapacity',
]);
const HTTP_INSUFFICIENT_STORAGE = 507;

const ADVICE: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or correct RUNLEDGER_OUTPUTS_S3_BUCKET',
  AccessDenied: 'Let the access key read, write, list and delete below the prefix',
  InvalidAccessKeyId: 'Correct RUNLEDGER_OUTPUTS_S3_ACCESS_KEY',
  SignatureDoesNotMatch: 'Correct RUNLEDGER_OUTPUTS_S3_SECRET_KEY',
  AuthorizationHeaderMalformed: 'Correct RUNLEDGER_OUTPUTS_S3_REGION',
  PermanentRedirect: 'Correct RUNLEDGER_OUTPUTS_S3_REGION and RUNLEDGER_OUTPUTS_S3_ENDPOINT',
  RequestTimeTooSkewed: 'Set the clock of this machine',
};

export const isMissing = (error: unknown): boolean =>
  error instanceof S3Failure && error.code === 'NoSuchKey';

/** The error of the port for an error of a request. `what`: what was done. */
export const storeError = ({ name }: Pick<S3Bucket, 'name'>, what: string, error: unknown): Error => {
  if (error instanceof OutputStoreUnavailable) return error;
  if (error instanceof S3Failure && (FULL.has(error.code) || error.status === HTTP_INSUFFICIENT_STORAGE))
    return new OutputStoreFull(
      `The bucket ${name} of the output files is full. An operator has to raise its quota, or let files expire sooner (RUNLEDGER_OUTPUTS_KEEP_DAYS)`,
      { cause: error },
    );
  const why = error instanceof Error ? error.message : String(error);
  const advice = error instanceof S3Failure ? ADVICE[error.code] : undefined;
  return new OutputStoreUnavailable(
    `${what}: the bucket ${name} failed (${why})${advice === undefined ? '' : `. ${advice}`}`,
    { cause: error },
  );
};
