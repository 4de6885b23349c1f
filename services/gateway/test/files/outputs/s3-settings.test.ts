import { ConfigError } from '@runledger/service-kit/config';
import { describe, expect, it } from 'vitest';
import { readGatewayConfig } from '../../../src/config.ts';
import { s3BucketOf, type S3Bucket } from '../../../src/files/stores/s3-requests.ts';

const SETTINGS = {
  RUNLEDGER_OUTPUTS: 's3',
  RUNLEDGER_OUTPUTS_S3_ENDPOINT: 'https://store.example:9000/',
  RUNLEDGER_OUTPUTS_S3_BUCKET: 'files',
  RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: 'an-access-key',
  RUNLEDGER_OUTPUTS_S3_SECRET_KEY: 'a-secret-key',
};
const bucketOf = (changes: Record<string, string> = {}): S3Bucket =>
  s3BucketOf(
    readGatewayConfig({
      NATS_URL: 'nats://127.0.0.1:1',
      RUNLEDGER_SECRET_KEYS: `${'A'.repeat(43)}=`,
      ...SETTINGS,
      ...changes,
    }),
    'RUNLEDGER_OUTPUTS',
  );

describe('the settings of a bucket', () => {
  it('give its address in both styles', () => {
    expect(bucketOf()).toEqual({
      url: 'https://store.example:9000/files',
      name: 'files',
      region: 'us-east-1',
      accessKeyId: 'an-access-key',
      secretAccessKey: 'a-secret-key',
    });
    const other = bucketOf({ RUNLEDGER_OUTPUTS_S3_PATH_STYLE: 'false', RUNLEDGER_OUTPUTS_S3_REGION: 'eu-1' });
    expect(other).toMatchObject({ url: 'https://files.store.example:9000', region: 'eu-1' });
  });

  it('are missing by name, and no secret is in the message', () => {
    const missing = { RUNLEDGER_OUTPUTS_S3_ENDPOINT: '', RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: '' };
    expect(() => bucketOf(missing)).toThrow(
      /^the configuration has 2 problems:\n {2}RUNLEDGER_OUTPUTS_S3_ENDPOINT is not set, and RUNLEDGER_OUTPUTS is "s3"\..*\n {2}RUNLEDGER_OUTPUTS_S3_ACCESS_KEY is not set/,
    );
    expect(() => bucketOf(missing)).not.toThrow(/a-secret-key/);
  });

  it.each([
    ['RUNLEDGER_OUTPUTS_S3_ENDPOINT', 'store.example'],
    ['RUNLEDGER_OUTPUTS_S3_ENDPOINT', 'https://me:secret@store.example'],
    ['RUNLEDGER_OUTPUTS_S3_ENDPOINT', 'https://store.example/path'],
    ['RUNLEDGER_OUTPUTS_S3_BUCKET', 'Files'],
    ['RUNLEDGER_OUTPUTS_S3_BUCKET', '../files'],
    ['RUNLEDGER_OUTPUTS_S3_PREFIX', 'outputs'],
    ['RUNLEDGER_OUTPUTS_S3_PREFIX', '/outputs/'],
    ['RUNLEDGER_OUTPUTS_S3_PREFIX', '../'],
    ['RUNLEDGER_OUTPUTS_S3_REGION', 'eu/1'],
    ['RUNLEDGER_OUTPUTS_S3_PATH_STYLE', 'maybe'],
  ])('refuse %s=%s', (variable, value) => {
    expect(() => bucketOf({ [variable]: value })).toThrow(ConfigError);
  });
});
