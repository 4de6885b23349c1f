import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { aRun } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { expect, it } from 'vitest';
import { aSweep, queuedWith } from '../../blobs/a-sweep.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';

const script = fileURLToPath(new URL('sweeping-process.ts', import.meta.url));
const ERASED_AFTER_MS = 4_000;
const UNREFERENCED = 1_500;
const REFERRED = 20;

it(
  'a sweep that is killed half-way is completed by the next one, and no referenced blob is lost',
  { timeout: 240_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const { nats, log } = open.use(await aLog());
    const folder = await mkdtemp(join(tmpdir(), 'runledger-sweep-'));
    open.defer(() => rm(folder, { recursive: true }));
    const path = join(folder, 'views.sqlite');
    const org = orgId(newUuid());
    const messages = async () => (await log.jsm.streams.info('BLOBS')).state.messages;

    const env = { ...process.env, ...nats.env, VIEWS_FILE: path, ERASED_AFTER_MS: String(ERASED_AFTER_MS) };
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'], env });
    const exited = once(child, 'exit');
    open.defer(async () => {
      child.kill('SIGKILL');
      await exited;
    });
    await using other = sqliteViews();
    const { store } = aSweep(log, other, ERASED_AFTER_MS);
    const kept = [];
    for (let run = 0; run < REFERRED; run += 1) {
      const ref = await store.put(org, jsonBlob({ run, text: newUuid() }));
      await appendAll(log, queuedWith(aRun(org), ref));
      kept.push(ref);
    }
    const free = Array.from({ length: UNREFERENCED }, (_, id) => jsonBlob({ id, text: newUuid() }));
    for (let at = 0; at < free.length; at += 100) {
      await Promise.all(free.slice(at, at + 100).map((bytes) => store.put(org, bytes)));
    }
    const all = await messages();
    await waitFor('a part to be erased', async () => (await messages()) < all - 100, { withinMs: 60_000 });
    child.kill('SIGKILL');
    await exited;
    const left = await messages();
    expect(left).toBeGreaterThan(REFERRED);

    const views = open.use(sqliteViews({ path }));
    open.use(project(log, views));
    await waitFor('the projection', () => views.position());
    const next = aSweep(log, views, ERASED_AFTER_MS);
    await waitFor(
      'the rest to be erased',
      async () => {
        await next.round();
        return (await messages()) === REFERRED;
      },
      { withinMs: 60_000 },
    );
    for (const { sha256 } of kept) expect(await store.get(org, sha256)).toBeDefined();
  },
);
