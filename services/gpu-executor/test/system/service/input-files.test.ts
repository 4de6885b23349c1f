import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { newUuid } from '@runledger/contracts/ids';
import { head } from '@runledger/event-log/read/read-run';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AssignedRun } from '../../fixtures/assigned-run.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

let service: ServiceTestBed;
beforeAll(async () => {
  service = await startService({ RUNLEDGER_WEBHOOK_ALLOW: 'loopback', EXECUTOR_INPUT_MAX_BYTES: '100000' });
});
afterAll(() => service[Symbol.asyncDispose]());

const aFile = (filename: string, bytes = randomBytes(1_000), sha256?: string) => {
  const id = newUuid();
  const hash = sha256 ?? createHash('sha256').update(bytes).digest('hex');
  const headers = {
    etag: `"${hash}"`,
    'content-type': 'image/png',
    'content-disposition': `inline; filename="${filename}"`,
  };
  service.gateway.files.set(id, { bytes, headers });
  return { id, bytes };
};

const assign = (inputs: Record<string, string | string[]>, more = {}) =>
  service.assign('copy', { inputs, file_inputs: Object.keys(inputs), ...more });
const failureOf = async (run: AssignedRun) => (await service.fact(run, 'RunFailed')).data;
const over = (): Promise<unknown> => service.over();

describe('an attempt whose inputs are files', () => {
  it('has them in its input folder, with safe names as the values of the inputs', async () => {
    const [one, other] = [aFile('../../photo.png'), aFile('PHOTO.png')];
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/webp' }).end('from a URL');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = address === null || typeof address === 'string' ? 0 : address.port;
    const { run } = await service.assign('copy', {
      inputs: { a: one.id, b: other.id, c: `http://127.0.0.1:${port}/con`, d: one.id, e: one.id },
      file_inputs: ['a', 'b', 'c', 'd'],
    });
    await service.fact(run, 'RunSucceeded');
    const { stored } = service.gateway;
    expect(JSON.parse(stored.get('stdin.json')?.toString() ?? '')).toMatchObject({
      inputs: { a: 'photo.png', b: 'PHOTO-2.png', c: '_con.webp', d: 'photo-3.png', e: one.id },
    });
    expect(stored.get('photo.png')?.equals(one.bytes)).toBe(true);
    expect(stored.get('PHOTO-2.png')?.equals(other.bytes)).toBe(true);
    expect(stored.get('_con.webp')?.toString()).toBe('from a URL');
    await over();
  });

  it('has those of a list in a folder of their own, in the order of the list', async () => {
    const [fox, other] = [aFile('fox.png'), aFile('fox.png')];
    const inputs = { 'photos/../x': [fox.id, other.id, fox.id], photo: fox.id, none: [] };
    const { run } = await service.assign('copy', {
      inputs: { ...inputs, caption: 'fox.png' },
      file_inputs: Object.keys(inputs),
    });
    await service.fact(run, 'RunSucceeded');
    const { stored } = service.gateway;
    expect(JSON.parse(stored.get('stdin.json')?.toString() ?? '').inputs).toEqual({
      'photos/../x': ['x/fox.png', 'x/fox-2.png', 'x/fox-3.png'],
      photo: 'fox.png',
      none: [],
      caption: 'fox.png',
    });
    expect(stored.get('fox-2.png')?.equals(other.bytes)).toBe(true);
    expect(stored.get('fox-3.png')?.equals(fox.bytes)).toBe(true);
    await over();
  });

  it('names the file of a list that cannot be fetched', async () => {
    const { run } = await assign({ photos: [aFile('a.png').id, newUuid()] });
    expect(await failureOf(run)).toMatchObject({
      error: {
        kind: 'input_unavailable',
        message: expect.stringContaining('The file of input photos[1] cannot'),
      },
    });
    await over();
  });

  it('fetches a file again that did not arrive as it is', async () => {
    const { id } = aFile('photo.png', randomBytes(10), 'a'.repeat(64));
    const { run } = await assign({ photo: id });
    await waitFor(
      'a second try',
      () => service.gateway.fetches.filter((name) => name === 'files').length > 1,
    );
    const { bytes } = aFile('photo.png');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    service.gateway.files.set(id, { bytes, headers: { etag: `"${sha256}"`, 'content-type': 'image/png' } });
    await service.fact(run, 'RunSucceeded');
  });

  it('fails, and says why, when a file is gone, too large, or at a forbidden address', async () => {
    const { run: gone } = await assign({ photo: newUuid() });
    expect(await failureOf(gone)).toMatchObject({
      error: {
        kind: 'input_unavailable',
        message: expect.stringContaining('The file of input photo cannot be fetched: '),
        retryable: false,
      },
    });
    const [small, large] = [aFile('a.png', randomBytes(60_000)), aFile('b.png', randomBytes(60_000))];
    const { run: tooMuch } = await assign({ small: small.id, large: large.id });
    expect(await failureOf(tooMuch)).toMatchObject({
      error: {
        message: expect.stringContaining('The file of input large has more than 40000 bytes'),
        retryable: false,
      },
    });
    const { run: forbidden } = await assign({ photo: 'http://10.0.0.7/photo.png' });
    expect(await failureOf(forbidden)).toMatchObject({
      error: { message: expect.stringContaining('10.0.0.7'), retryable: false },
    });
    await over();
  });

  it('is followed by another attempt when its deployment wants one', async () => {
    const photo = 'http://127.0.0.1:9/photo.png';
    const { run } = await assign({ photo }, { retry_on: ['input_unavailable'] });
    expect((await service.fact(run, 'RunAttemptFailed')).data).toMatchObject({
      error: { kind: 'input_unavailable', retryable: true },
    });
  });

  it('ends as cancelled at once while a file is fetched', async () => {
    const server = createServer(() => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const port = address === null || typeof address === 'string' ? 0 : address.port;
    const { run } = await assign({ photo: `http://127.0.0.1:${port}/` });
    await once(server, 'request');
    await service.append(run.cancelRequested, await head(service.log, run));
    expect((await service.fact(run, 'RunCancelled')).data).toMatchObject({ forced: false });
    await over();
  });
});
