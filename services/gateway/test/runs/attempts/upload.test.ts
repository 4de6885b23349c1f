import { createHash } from 'node:crypto';
import { StoredFile } from '@runledger/contracts/events/run-event-data';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { waitFor } from '@runledger/testing/wait-for';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { open as openSocket, rawRequest } from '../../fixtures/requests/raw-request.ts';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  requeued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { anAttempt, anAttemptOf, numbered, upload, uploadUrl, type Attempt } from './an-upload.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({
    environment: {
      RUNLEDGER_OUTPUT_FILE_MAX_BYTES: '2000000',
      RUNLEDGER_OUTPUT_RUN_MAX_BYTES: '3000000',
    },
  });
});
afterAll(() => bed[Symbol.asyncDispose]());

const messagesIn = async (filter: string): Promise<number> => {
  const info = await bed.log.jsm.streams.info('OBJ_OUTPUTS', { subjects_filter: filter });
  return Object.values(info.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};
const chunks = () => messagesIn('$O.OUTPUTS.C.>');

describe('an executor', () => {
  it('stores a file of its attempt', async () => {
    const attempt = await anAttempt(bed, gateway);
    const bytes = numbered(300_000);
    const { status, body } = await upload(gateway, attempt, bytes, { filename: 'ä b.png', subfolder: 'x/y' });
    expect(status).toBe(201);
    expect(Value.Check(StoredFile, body)).toBe(true);
    expect(body).toMatchObject({
      key: expect.stringMatching(/^[\w-]{43}$/),
      filename: 'ä b.png',
      subfolder: 'x/y',
      content_type: 'image/png',
      bytes: 300_000,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      type: 'output',
    });
  });

  it('stores an empty file', async () => {
    const { status, body } = await upload(gateway, await anAttempt(bed, gateway), numbered(0));
    expect([status, body.bytes]).toEqual([201, 0]);
  });

  it('may store files after a cancel request', async () => {
    const attempt = await anAttempt(bed, gateway);
    await appendAll(bed.log, cancelRequested(attempt.run, 1, EXECUTOR));
    const counted = async (): Promise<number> =>
      Number(/^runledger_gateway_upload_bytes_total\S* (\d+)$/m.exec(await gateway.metrics.metrics())?.[1]);
    const before = await counted();
    expect((await upload(gateway, attempt, numbered(7))).status).toBe(201);
    expect(await counted()).toBe(before + 7);
  });

  it('is refused with any other token than that of its attempt', async () => {
    const attempt = await anAttempt(bed, gateway);
    const foreign = await newAttemptKeys();
    const unknown: Attempt = { ...attempt, run: aRun() };
    const tokens = [
      null,
      'nonsense',
      bed.tenant.key,
      await signAttempt(foreign, attempt.run, 1),
      await signAttempt(attempt.keys, attempt.run, 2),
      await signAttempt(attempt.keys, aRun(), 1),
    ];
    for (const token of tokens) {
      const { status, headers } = await upload(gateway, attempt, numbered(10), { token });
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
    expect((await upload(gateway, unknown, numbered(10))).status).toBe(401);
    expect((await upload(gateway, attempt, numbered(10), { attempt: 2 })).status).toBe(401);
  });

  it('is refused when its attempt is over', async () => {
    const lost = await anAttempt(bed, gateway);
    await appendAll(bed.log, requeued(lost.run));
    expect((await upload(gateway, lost, numbered(1))).status).toBe(409);
    await appendAll(bed.log, assigned(lost.run, { attempt: 2, executor: OTHER_EXECUTOR }));
    const stale = await upload(gateway, lost, numbered(1));
    expect([stale.status, stale.body]).toMatchObject([
      409,
      { detail: expect.stringContaining('attempt 2 is executing'), code: 'attempt_over' },
    ]);
    const ended = await anAttempt(bed, gateway);
    await appendAll(bed.log, succeeded(ended.run));
    expect((await upload(gateway, ended, numbered(1))).status).toBe(409);
  });

  it('has to send a valid file name', async () => {
    const attempt = await anAttempt(bed, gateway);
    const problems = async (query: string) => {
      const { status, body } = await upload(gateway, attempt, numbered(1), { query });
      return [status, body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))];
    };
    expect(await problems('')).toEqual([422, ['query.filename']]);
    expect(await problems('filename=../a&subfolder=/etc&type=x')).toEqual([
      422,
      ['query.filename', 'query.subfolder', 'query.type'],
    ]);
    for (const bad of ['..', '.', 'a/b', 'a%5Cb', 'a%00b', 'a%0Ab', 'x'.repeat(256), '%FF'.repeat(256)]) {
      expect(await problems(`filename=${bad}`)).toEqual([422, ['query.filename']]);
    }
    for (const bad of ['a/../b', '/a', 'a//b', 'a/', 'a%5C..%5Cb']) {
      expect(await problems(`filename=a&subfolder=${bad}`)).toEqual([422, ['query.subfolder']]);
    }
  });

  it('has to send the length', async () => {
    const attempt = await anAttempt(bed, gateway);
    const { pathname, search } = new URL(uploadUrl(gateway, attempt));
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\n`;
    const answer = await rawRequest(gateway.url, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
    expect(answer.status).toBe(411);
  });

  it('stores a file of an invalid type as bytes', async () => {
    const attempt = await anAttempt(bed, gateway);
    const { body } = await upload(gateway, attempt, numbered(1), { contentType: 'text/html\u00e4' });
    expect(body.content_type).toBe('application/octet-stream');
  });
});

describe('the limits', () => {
  it('hold for each file', async () => {
    const attempt = await anAttempt(bed, gateway);
    const answer = await upload(gateway, attempt, numbered(2_000_001));
    expect([answer.status, answer.body]).toMatchObject([
      413,
      { detail: expect.stringContaining('at most 2000000 bytes'), code: 'file_too_large' },
    ]);
    expect((await upload(gateway, attempt, numbered(2_000_000))).status).toBe(201);
  });

  it('hold for all files of a run: none is stored when it announced too much', async () => {
    const attempt = await anAttemptOf(bed, await queueSample(gateway, bed.tenant), 3_000_001);
    const refused = await upload(gateway, attempt, numbered(1));
    expect(refused.body.code).toBe('outputs_too_large');
    expect([refused.status, refused.body.detail]).toEqual([
      413,
      'The files of a run may have at most 3000000 bytes together, and those of this run have 3000001',
    ]);
  });

  it('hold for an attempt that stores more than it announced, or announced nothing', async () => {
    const attempt = await anAttemptOf(bed, await queueSample(gateway, bed.tenant), 1_000_000);
    const answers = await Promise.all(
      [0, 1, 2, 3].map((index) => upload(gateway, attempt, numbered(400_000), { filename: `${index}.png` })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.detail).toContain('more than it has announced');
    expect(refused?.body.code).toBe('output_not_announced');

    const run = await queueSample(gateway, bed.tenant);
    const keys = await newAttemptKeys();
    await appendAll(bed.log, assigned(run, { publicKey: keys.publicKey }), started(run));
    const silent = { run, keys, token: await signAttempt(keys, run, 1) };
    const early = await upload(gateway, silent, numbered(1));
    expect([early.status, early.body.detail]).toEqual([409, expect.stringContaining('RunUploading')]);
  });

  it('hold for the number of files, which is 500', async () => {
    const attempt = await anAttempt(bed, gateway);
    const names = Array.from({ length: 500 }, (_, index) => `${index}.txt`);
    const statuses: number[] = [];
    for (let from = 0; from < names.length; from += 20) {
      const some = names.slice(from, from + 20);
      const answers = some.map((filename) => upload(gateway, attempt, numbered(1), { filename }));
      statuses.push(...(await Promise.all(answers)).map(({ status }) => status));
    }
    expect(new Set(statuses)).toEqual(new Set([201]));
    const refused = await upload(gateway, attempt, numbered(1), { filename: 'one more' });
    expect([refused.status, refused.body]).toMatchObject([
      413,
      { code: 'too_many_outputs', detail: 'A run may store at most 500 files' },
    ]);
  });

  it('hold for its files, of which one that is stored again replaces itself', async () => {
    const attempt = await anAttempt(bed, gateway);
    const before = await chunks();
    const store = (filename: string, length = 200_000) =>
      upload(gateway, attempt, numbered(length), { filename });
    const first = await store('a');
    expect([first.status, (await store('b')).status, (await store('c')).status]).toEqual([201, 201, 201]);
    const again = await store('a', 100_000);
    expect([again.status, again.body.key]).toEqual([201, expect.not.stringMatching(first.body.key)]);
    expect(await chunks()).toBe(before + 1 + 2 + 2);
    const { key, filename } = first.body;
    expect((await fetch(`${gateway.url}/outputs/${key}/${filename}`)).status).toBe(404);
  });
});

describe('the files of an attempt that was lost', () => {
  it('are removed when the next attempt stores files, and no longer count', async () => {
    const first = await anAttempt(bed, gateway);
    expect((await upload(gateway, first, numbered(1_900_000), { filename: 'a' })).status).toBe(201);
    const withOne = await chunks();
    await appendAll(
      bed.log,
      requeued(first.run),
      assigned(first.run, { attempt: 2, publicKey: first.keys.publicKey }),
      started(first.run, 2),
      uploading(first.run, 2, EXECUTOR, 1_900_000),
    );
    const second = { ...first, token: await signAttempt(first.keys, first.run, 2) };
    const stored = await upload(gateway, second, numbered(1_900_000), { filename: 'b', attempt: 2 });
    expect(stored.status).toBe(201);
    await waitFor('one file to be left', async () => (await chunks()) === withOne);
    expect((await upload(gateway, first, numbered(1), { filename: 'c' })).status).toBe(409);
  });
});

describe('a file that is sent again during its first upload', () => {
  it('counts, and the first upload neither replaces nor removes it', async () => {
    const attempt = await anAttempt(bed, gateway);
    const bytes = numbered(1_000_000);
    const { pathname, search } = new URL(uploadUrl(gateway, attempt, { filename: 'a' }));
    const slow = openSocket(gateway.url);
    const before = await chunks();
    slow.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    slow.write(bytes.subarray(0, 700_000));
    await waitFor('a part of it to be stored', async () => (await chunks()) > before);

    const again = await upload(gateway, attempt, bytes, { filename: 'a' });
    expect(again.status).toBe(201);
    const withOne = (await chunks()) - before;
    const answered = new Promise<string>((resolve) => slow.once('data', (data) => resolve(String(data))));
    slow.write(bytes.subarray(700_000));
    expect(await answered).toMatch(/^HTTP\/1.1 409 [^]*"code":"output_superseded"/);
    slow.destroy();
    await waitFor('its pieces to be removed', async () => (await chunks()) - before < withOne + 1);
    const served = await fetch(`${gateway.url}/outputs/${again.body.key}/a`);
    expect([served.status, (await served.arrayBuffer()).byteLength]).toEqual([200, 1_000_000]);
  });
});

describe('an interrupted upload', () => {
  it('leaves no object, and its bytes no longer count', async () => {
    const attempt = await anAttempt(bed, gateway);
    const before = await chunks();
    for (let round = 0; round < 3; round += 1) {
      const socket = openSocket(gateway.url);
      const { pathname, search } = new URL(uploadUrl(gateway, attempt, { filename: `${round}.bin` }));
      socket.write(
        `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\nContent-Length: 1900000\r\n\r\n`,
      );
      socket.write(numbered(700_000));
      await waitFor('a part of it to be stored', async () => (await chunks()) > before);
      socket.destroy();
      await waitFor('nothing to be left of it', async () => (await chunks()) === before);
    }
    await waitFor(
      'its bytes to be free again',
      async () => (await upload(gateway, attempt, numbered(1_900_000))).status === 201,
    );
  });

  it('leaves nothing either when the attempt was lost meanwhile', async () => {
    const attempt = await anAttempt(bed, gateway);
    const before = await chunks();
    const socket = openSocket(gateway.url);
    const { pathname, search } = new URL(uploadUrl(gateway, attempt));
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attempt.token}\r\nContent-Length: 700001\r\n\r\n`,
    );
    socket.write(numbered(700_000));
    await waitFor('a part of it to be stored', async () => (await chunks()) > before);
    await appendAll(bed.log, requeued(attempt.run));
    socket.write(numbered(1));
    await waitFor('the answer', () => answer.startsWith('HTTP/1.1 409'));
    socket.destroy();
    await waitFor('nothing to be left of it', async () => (await chunks()) === before);
  });
});
