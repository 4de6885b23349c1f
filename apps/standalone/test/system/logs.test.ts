import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runApi, type RunApi } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

/** Its first attempt fails. Each attempt waits for a file of the test. */
const programOf = (folder: string): string => `
  trap 'printf "it was stopped" >&2; exit 1' TERM
  echo "attempt $RUNLEDGER_ATTEMPT has the key sk-s3cret"
  until [ -e '${folder}/go-'$RUNLEDGER_ATTEMPT ]; do sleep 0.1; done
  echo "attempt $RUNLEDGER_ATTEMPT ends with sk-s3cret" >&2
  [ "$RUNLEDGER_ATTEMPT" = 2 ]`;

let standalone: Standalone;
let api: RunApi;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'standalone-logs-'));
  // Programs of the executor may have another user.
  chmodSync(folder, 0o755);
  const program = { command: 'sh', args: ['-c', programOf(folder)], readable: [folder] };
  const programs = JSON.stringify({ 'render-image': program });
  standalone = await startStandalone({ env: { EXECUTOR_GPUS: 'A10G:1', EXECUTOR_PROGRAMS: programs } });
  api = runApi(standalone);
  const settings = { retry: { attempts: 2, on: ['program_exit'] }, log_masks: ['sk-[a-z0-9]+'] };
  const changed = await request(`/deployments/${standalone.deployment_id}`, {
    method: 'PATCH',
    body: JSON.stringify(settings),
  });
  if (!changed.ok) throw new Error(`the deployment cannot be changed: ${await changed.text()}`);
}, 120_000);
afterAll(async () => {
  await standalone.stop();
  rmSync(folder, { recursive: true, force: true });
});

const request = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${standalone.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${standalone.api_key}`, 'content-type': 'application/json' },
  });

it('the logs of a run are live over its attempts, masked, and kept with it until it is deleted', async () => {
  const run = await api.queue();
  let streamed = '';
  const stream = await request(`/run/${run}/logs?follow=1`);
  const ended = (async () => {
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) streamed += piece;
  })();
  const letEnd = (attempt: number): void => writeFileSync(join(folder, `go-${attempt}`), '');

  await waitFor('the first line, while the program waits', () =>
    streamed.includes('attempt 1 has the key ***'),
  );
  letEnd(1);
  await waitFor('the other attempt', () => streamed.includes('attempt 2 has the key ***'));
  letEnd(2);
  await ended;
  expect(streamed).toMatch(/event: end\ndata: {"status":"success"}\n\n$/);

  const text = await (await request(`/run/${run}/logs`)).text();
  const items = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(items.map(({ attempt, stream: from, line }) => [attempt, from, line])).toEqual([
    [1, 'stdout', 'attempt 1 has the key ***'],
    [1, 'stderr', 'attempt 1 ends with ***'],
    [2, 'stdout', 'attempt 2 has the key ***'],
    [2, 'stderr', 'attempt 2 ends with ***'],
  ]);
  expect(JSON.stringify([streamed, text, await api.get(run)])).not.toContain('s3cret');

  expect((await request(`/run/${run}`, { method: 'DELETE' })).status).toBe(200);
  expect((await request(`/run/${run}/logs`)).status).toBe(404);
});
