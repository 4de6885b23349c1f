import { request } from 'node:http';
import { testBucket } from '@runledger/testing/servers/s3';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { elementsOf, textOf, s3Requests, bucketUrl } from '../../../../src/files/stores/s3-requests.ts';
import { anAttemptOf, numbered, upload, uploadUrl } from '../../../runs/attempts/an-upload.ts';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../../fixtures/runs/queued-runs.ts';

const MiB = 1024 ** 2;
const SIZE = 20 * MiB;

describe('a gateway that is killed while it stores a file in a bucket', { timeout: 120_000 }, () => {
  it('leaves no file, and the upload that comes again is whole', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const bucket = await testBucket();
    const { ask } = s3Requests({
      url: bucketUrl(bucket.endpoint, bucket.bucket, true),
      name: bucket.bucket,
      region: 'us-east-1',
      accessKeyId: bucket.accessKey,
      secretAccessKey: bucket.secretKey,
    });
    const listed = async (query: Record<string, string>, element: string): Promise<string[]> => {
      const { text } = await ask({ method: 'GET', query: { ...query, prefix: bucket.prefix } });
      return elementsOf(text, element);
    };
    const environment = {
      ...bed.nats.env,
      ...bucket.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
    };
    const attempt = await anAttemptOf(bed, await queueSample(await bed.gateway(), bed.tenant), 2 * SIZE);

    const first = open.use(await startGatewayProcess(environment));
    const { token } = attempt;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'image/png', 'content-length': SIZE };
    const sending = request(uploadUrl(first, attempt), { method: 'PUT', headers }).on(
      'error',
      () => undefined,
    );
    sending.write(numbered(SIZE - MiB));
    await waitFor('the begun upload', async () => (await listed({ uploads: '' }, 'Upload')).length === 1);
    first.kill('SIGKILL');
    await first.exit();
    sending.destroy();
    expect(await listed({ 'list-type': '2' }, 'Key')).toEqual([]);

    const next = open.use(await startGatewayProcess(environment));
    const { status, body } = await upload(next, attempt, numbered(SIZE));
    expect({ status, bytes: body.bytes }).toEqual({ status: 201, bytes: SIZE });
    const served = await fetch(`${next.url}/outputs/${body.key}/file.png`);
    expect(Buffer.compare(Buffer.from(await served.arrayBuffer()), numbered(SIZE))).toBe(0);
    const sizes = (await listed({ 'list-type': '2' }, 'Contents')).map((one) => textOf(one, 'Size'));
    expect(sizes).toContain(String(SIZE));
  });
});
