import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, cancelRequested, deleted, queued } from '@runledger/testing/run-events';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { describe, expect, it } from 'vitest';
import { clock } from '../../src/kit.ts';
import { openSqliteRunViews } from '../../src/views/sqlite/sqlite-run-views.ts';
import { beginningOf } from '../../src/views/projection-start.decide.ts';
import { ViewsUnavailable } from '../../src/views/run-views.ts';
import { everyPage } from '../fixtures/requests/every-page.ts';
import { aView, folded, timeOf } from '../fixtures/runs/folded-runs.ts';

const aFile = async (open: AsyncDisposableStack): Promise<string> =>
  join(open.use(await folderInMemory('views')).path, 'views.sqlite');

const openViews = (path: string): ReturnType<typeof openSqliteRunViews> =>
  openSqliteRunViews({ path, clock });

describe('run views in a file', () => {
  it('have all that was saved, and their position, when they are opened again', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    const view = aView(7, folded(queued(aRun())));
    const beginning = beginningOf({ created: '2026-01-01T00:00:00Z', since: '2026-01-01T00:00:00Z' }, 1);
    const position = { ...beginning, sequence: 7, event_id: 'seventh' };
    {
      await using views = openViews(path);
      await views.resetTo(beginning);
      await views.advance([view], beginning, position);
    }
    await using views = openViews(path);
    expect(await views.find(view.run)).toEqual(view);
    expect(await views.position()).toEqual(position);
  });

  it('are readable by their owner only, also while they are written', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    const views = open.use(openViews(path));
    await views.save([aView(1, folded(queued(aRun())))]);
    const files = await readdir(dirname(path));
    expect(files).toContain('views.sqlite-wal');
    for (const file of files) {
      expect([file, (await stat(join(dirname(path), file))).mode & 0o777]).toEqual([file, 0o600]);
    }
  });

  it('are refused to a second gateway, with what to do', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    open.use(openViews(path));
    expect(() => openViews(path)).toThrow(ViewsUnavailable);
    expect(() => openViews(path)).toThrow('Give each gateway a file of its own (RUNLEDGER_VIEWS_FILE)');
  });

  it('are not read when a later release has written them', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    const later = new DatabaseSync(path);
    later.exec('PRAGMA user_version = 6');
    later.close();
    expect(() => openViews(path)).toThrow('it has views of version 6, and this release reads version 5');
  });

  it('find very many runs by the beginning of their ids, page by page', async () => {
    await using views = openViews(':memory:');
    const run = folded(queued(aRun()));
    const all = Array.from({ length: 5_100 }, (_, index) => ({
      ...run,
      run_id: runId(`0192aaaa-0000-7000-8000-${String(index).padStart(12, '0')}`),
      number: index + 1,
    }));
    await views.save(all.map((one) => aView(1, one)));
    await views.save([aView(1, folded(queued(aRun(run.org_id))))]);
    const search = { text: '0192aaaa-0000', deploymentIds: [] };
    const pages = await everyPage((behind) =>
      views.listRuns({ org_id: run.org_id, limit: 2_000, search, ...behind }),
    );
    expect(pages.flat().map(({ run: { number } }) => number)).toEqual(
      all.map(({ number }) => number).toReversed(),
    );
    const { counts } = await views.countRuns({ org_id: run.org_id, search });
    expect(counts.queued).toBe(5_100);
  });

  it('keep no text of runs that were deleted or removed', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    const [one, other, kept] = [aRun(), aRun(), aRun()];
    const viewed = (key: RunKey) => aView(1, folded(queued(key, { inputs: { a: key.run_id } })));
    const ended = folded(queued(one), cancelRequested(one));
    const tombstone = evolveRun(ended, { event: deleted(one), sequence: 2, time: timeOf(2) });
    if (isImpossible(tombstone)) throw new Error(tombstone.impossible);
    {
      await using views = openViews(path);
      await views.save([one, other, kept].map(viewed));
      await views.save([{ ...viewed(one), head: 2, run: tombstone }]);
      await views.remove([viewed(other)]);
    }
    using database = new DatabaseSync(path);
    const texts = database.prepare('SELECT text FROM run_texts').all();
    expect(texts.map(({ text }) => text)).toEqual([`a\n${kept.run_id}`]);
  });

  it('are reported as unavailable when the file cannot be opened', async () => {
    await using open = new AsyncDisposableStack();
    const path = await aFile(open);
    expect(() => openViews(join(path, 'nowhere'))).toThrow('no such file or directory');
  });
});
