import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { environment } from './environment.ts';

/** A bucket of an S3-compatible store. */
export interface TestBucket {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Of the test's own: another test may use the bucket. */
  readonly prefix: string;
  /** The environment of a gateway that keeps its output files there. */
  readonly env: Readonly<Record<string, string>>;
}

const GIVEN = 'RUNLEDGER_TEST_S3';

const shared = inject('sharedS3');

/**
 * The bucket that `RUNLEDGER_TEST_S3` names, as `http://ACCESS_KEY:SECRET@host:9000/bucket`; else a new one in the Moto that all tests share,
 * which starts for the first of them. Installs Moto into the cache when it is not there.
 */
export const testBucket = async (): Promise<TestBucket> => {
  const given = environment[GIVEN];
  if (given !== undefined) return bucketAt(new URL(given));
  const answer = await fetch(shared);
  const said = await answer.text();
  if (!answer.ok) throw new Error(said);
  const bucket = randomUUID();
  const created = await fetch(`${said}/${bucket}`, { method: 'PUT' });
  if (!created.ok) throw new Error(`Moto made no bucket: ${created.status} ${await created.text()}`);
  return bucketAt(new URL(`http://access:secret@${new URL(said).host}/${bucket}`));
};

const bucketAt = ({ origin, pathname, username, password }: URL): TestBucket => {
  const bucket = pathname.slice(1);
  const [accessKey, secretKey] = [decodeURIComponent(username), decodeURIComponent(password)];
  const own = randomUUID();
  const prefix = `${own}/outputs/`;
  return {
    endpoint: origin,
    bucket,
    accessKey,
    secretKey,
    prefix,
    env: {
      RUNLEDGER_OUTPUTS: 's3',
      RUNLEDGER_OUTPUTS_S3_ENDPOINT: origin,
      RUNLEDGER_OUTPUTS_S3_BUCKET: bucket,
      RUNLEDGER_OUTPUTS_S3_PREFIX: prefix,
      RUNLEDGER_MODELS_S3_PREFIX: `${own}/models/`,
      RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: accessKey,
      RUNLEDGER_OUTPUTS_S3_SECRET_KEY: secretKey,
    },
  };
};
