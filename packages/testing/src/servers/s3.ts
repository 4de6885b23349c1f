import { randomUUID } from 'node:crypto';
import { startMoto } from '@runledger/local-servers/moto';
import { environment } from './environment.ts';

/** A bucket of an S3-compatible store. */
export interface TestBucket extends AsyncDisposable {
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

/**
 * The bucket that `RUNLEDGER_TEST_S3` names, as `http://ACCESS_KEY:SECRET@host:9000/bucket`; else a new one in Moto, which starts for the
 * test. Installs Moto into the cache when it is not there.
 */
export const testBucket = async (): Promise<TestBucket> => {
  const given = environment[GIVEN];
  if (given !== undefined) return bucketAt(new URL(given), async () => undefined);
  const server = await startMoto({ env: environment });
  const url = new URL(`http://access:secret@${new URL(server.url).host}/bucket`);
  const created = await fetch(`${server.url}/bucket`, { method: 'PUT' });
  if (!created.ok) throw new Error(`Moto made no bucket: ${created.status} ${await created.text()}`);
  return bucketAt(url, async () => {
    await server.stop();
  });
};

const bucketAt = (
  { origin, pathname, username, password }: URL,
  dispose: () => Promise<void>,
): TestBucket => {
  const bucket = pathname.slice(1);
  const [accessKey, secretKey] = [decodeURIComponent(username), decodeURIComponent(password)];
  const prefix = `${randomUUID()}/outputs/`;
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
      RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: accessKey,
      RUNLEDGER_OUTPUTS_S3_SECRET_KEY: secretKey,
    },
    [Symbol.asyncDispose]: dispose,
  };
};
