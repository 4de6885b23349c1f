import { randomBytes } from 'node:crypto';
import {
  ApiError,
  NotFound,
  RunFailed,
  Runledger,
  ValidationError,
  verifyWebhook,
  type LogItem,
  type Progress,
} from '@runledger/client';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aClientService, type ClientService } from '../../fixtures/clients/client-service.ts';
import { aReceiver } from '../../fixtures/webhook-receiver.ts';

let service: ClientService;
let client: Runledger;
let deployment: string;
beforeAll(async () => {
  service = await aClientService();
  ({ client, deployment } = service);
}, 120_000);
afterAll(() => service[Symbol.asyncDispose]());

describe('client.run', () => {
  it('uploads a file, reports progress and logs, and gives the ended run', async () => {
    const photo = randomBytes(100_000);
    const [progress, lines]: [Progress[], LogItem[]] = [[], []];
    const run = await client.run(
      deployment,
      { photo: new File([photo], 'fox.png', { type: 'image/png' }), size: 64 },
      { onProgress: (one) => void progress.push(one), onLog: (item) => void lines.push(item), tags: ['a'] },
    );
    expect(run).toMatchObject({ status: 'success', finished: true, tags: ['a'] });
    const items = run.outputs.flatMap(({ data }) => data['images'] ?? []);
    const image = items.find((item) => typeof item !== 'string');
    expect(Buffer.from(await (await fetch(String(image?.url))).arrayBuffer()).equals(photo)).toBe(true);
    expect(lines).toContainEqual(expect.objectContaining({ stream: 'stderr', line: 'it begins' }));
    expect(progress[0]).toMatchObject({ status: 'queued', progress: 0 });
    expect(progress.at(-1)).toMatchObject({ status: 'success', progress: 1, live_status: null });
  });

  it('throws the run when it fails', async () => {
    const failure = await client.run(deployment, { mode: 'please-fail' }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RunFailed);
    expect(failure).toMatchObject({
      message: expect.stringContaining('out of paint'),
      run: { status: 'failed', error: { kind: 'program_exit', exit_code: 3 } },
    });
  });

  it('cancels the run when its signal aborts', async () => {
    const abort = new AbortController();
    const running = client.run(
      deployment,
      { mode: 'please-wait' },
      {
        tags: ['aborted'],
        signal: abort.signal,
        onProgress: ({ live_status }) => {
          if (live_status === 'half way') abort.abort(new Error('the visitor left'));
        },
      },
    );
    await expect(running).rejects.toThrow('the visitor left');
    const runs = await Array.fromAsync(client.runs.list({ tag: ['aborted'] }));
    expect(runs).toHaveLength(1);
    expect(await client.runs.wait(String(runs[0]?.id))).toMatchObject({ status: 'cancelled' });
  });
});

describe('client.runs', () => {
  it('queues once for a key, waits, runs again, and lists over the pages', async () => {
    const options = { idempotencyKey: 'once', tags: ['listed'] };
    const { run_id } = await client.runs.queue(deployment, { size: 1 }, options);
    expect(await client.runs.queue(deployment, { size: 1 }, options)).toEqual({ run_id });
    expect((await client.runs.wait(run_id)).status).toBe('success');
    const { name, workflow_version_id } = await client.request('GET', '/deployments/{deployment_id}', {
      params: { deployment_id: deployment },
    });
    const named = await client.run(`${name}@1`, { size: 1 });
    expect(named).toMatchObject({ status: 'success', workflow_version_id });
    const again = await client.runs.rerun(run_id, { inputs: { size: 2 } });
    expect(await client.runs.get(again.run_id, { include: ['inputs'], wait: 30 })).toMatchObject({
      rerun_of: run_id,
      workflow_inputs: { size: 2 },
    });
    const { run_id: third } = await client.runs.rerun(run_id);
    const listed = await Array.fromAsync(client.runs.list({ tag: ['listed'], limit: 1 }), ({ id }) => id);
    expect(listed).toEqual([third, again.run_id, run_id]);
    const logs = await Array.fromAsync(client.runs.logs(run_id));
    expect(logs).toEqual([expect.objectContaining({ line: 'it begins', attempt: 1 })]);
    expect(await client.runs.cancel(run_id)).toMatchObject({ outcome: 'already_ended' });
  });

  it('throws refusals with what is wrong', async () => {
    const invalid = await client.runs.queue('', {}, { priority: 1e6 }).catch((error: unknown) => error);
    expect(invalid).toBeInstanceOf(ValidationError);
    expect(invalid).toMatchObject({
      status: 422,
      problems: [{ loc: ['body', 'deployment'] }, { loc: ['body', 'priority'] }],
      requestId: expect.stringMatching(/./),
    });
    await expect(client.runs.get('00000000-0000-7000-8000-000000000000')).rejects.toThrow(NotFound);
  });
});

it('a browser with a token of the run sees it live, continues behind a fact, and does nothing else', async () => {
  const { run_id } = await client.runs.queue(deployment);
  const { token } = await client.request('POST', '/run/{run_id}/tokens', {
    params: { run_id },
    body: { scopes: ['read', 'events', 'logs'] },
  });
  const browser = new Runledger({ url: service.standalone.url, apiKey: token });
  const facts = async (after?: string) =>
    (await Array.fromAsync(browser.subscribe(run_id, { after }))).filter((event) => event.event === 'fact');
  const all = await facts();
  const types = ['RunQueued', 'RunAssigned', 'RunStarted', 'RunSucceeded'];
  expect(all.map(({ data }) => data.type)).toEqual(types);
  expect((await facts(all[1]?.id)).map(({ data }) => data.type)).toEqual(types.slice(2));
  expect(await Array.fromAsync(browser.runs.logs(run_id, { follow: true }))).toHaveLength(1);
  expect((await browser.runs.get(run_id)).finished).toBe(true);
  const refused = await browser.runs.cancel(run_id).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiError);
  expect(refused).toMatchObject({ status: 403 });
});

it('a large file is uploaded in pieces, and downloaded as it was', async () => {
  const bytes = new Uint8Array(randomBytes(17 * 1024 * 1024));
  const file = await client.files.upload(bytes, { filename: 'large.bin' });
  expect(file).toMatchObject({ filename: 'large.bin', bytes: bytes.length });
  const content = await client.fetch('GET', '/files/{id}/content', { params: { id: file.id } });
  expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
  expect(await client.request('DELETE', '/files/{id}', { params: { id: file.id } })).toBeUndefined();
});

it('a webhook is verified with its secret, also while the secret is rotated', async () => {
  await using receiver = await aReceiver();
  const rotated = await client.request('POST', '/webhooks/secret', { body: { overlap_s: 60 } });
  const { run_id } = await client.runs.queue(deployment, {}, { webhook: receiver.url });
  const [{ body, headers }] = await waitFor('the notification', () => {
    const [final] = receiver.finalsOf(run_id);
    return final && ([final] as const);
  });
  for (const secrets of [service.standalone.webhook_secret, rotated.secret]) {
    const notification = await verifyWebhook({ body, headers, secrets });
    expect(notification).toMatchObject({ run_id, status: 'success', finished: true });
  }
});
