import { PNG } from 'pngjs';
import { someOf } from '@runledger/testing/random/cases';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { historyOf } from '../fixtures/log-of.ts';
import { runApi } from '../fixtures/run-api.ts';
import { runCli } from '../fixtures/run-cli.ts';
import { startStandalone } from '../fixtures/start-standalone.ts';
import { viewsInFile, viewsInMongo } from '../fixtures/stored-views.ts';

/** In the gate, most tests of a standalone have views in SQLite. */
const STORES = [
  ['SQLite', viewsInFile],
  ['MongoDB', viewsInMongo],
] as const;

describe.each(someOf(STORES, ([name]) => name === 'MongoDB'))(
  'a run of the sample, with views in %s',
  (_where, openViews) => {
    it('queues, starts, reports rising progress, succeeds with a picture, and survives a restart of everything', async (context) => {
      const opened = await openViews();
      if (typeof opened === 'string') return context.skip(opened);
      await using views = opened;
      await using standalone = await startStandalone({ env: views.env });
      const api = runApi(standalone);

      const run = await api.queue({ size: 128, seconds: 2 });
      const progress: number[] = [];
      const ended = await waitFor(
        'the sample to end',
        async () => {
          const shown = await api.get(run);
          progress.push(shown.progress);
          return shown.finished ? shown : undefined;
        },
        { withinMs: 30_000 },
      );
      expect(ended).toMatchObject({
        status: 'success',
        end_reason: 'completed',
        progress: 1,
        live_status: null,
      });
      expect(progress).toEqual(progress.toSorted((a, b) => a - b));
      expect(new Set(progress.filter((value) => value > 0 && value < 1)).size).toBeGreaterThan(2);

      const picture = Object.values(ended.outputs[0]?.data ?? {})
        .flat()
        .find((item) => typeof item === 'object');
      if (!picture) throw new Error(`no file among the outputs: ${JSON.stringify(ended.outputs)}`);
      const download = await fetch(picture.url);
      expect(download.headers.get('content-type')).toBe('image/png');
      const png = PNG.sync.read(Buffer.from(await download.arrayBuffer()));
      expect(png).toMatchObject({ width: 128, height: 128 });

      const shown = await runCli(['history', run, '--json'], standalone.dataFolder);
      const events = shown.stdout
        .trim()
        .split('\n')
        .map((line): { kind: string; type: string; writer: string } => JSON.parse(line))
        .filter(({ kind }) => kind === 'fact');
      expect(events.map(({ type, writer }) => [type, writer])).toEqual([
        ['RunQueued', 'gateway'],
        ['RunAssigned', 'scheduler'],
        ['RunStarted', 'gpu-executor'],
        ['RunUploading', 'gpu-executor'],
        ['RunSucceeded', 'gpu-executor'],
      ]);

      const { facts } = await historyOf(standalone.dataFolder, ended);
      expect(ended).toMatchObject({
        number: 1,
        created_at: facts[0]?.time,
        started_at: facts[2]?.time,
        ended_at: facts[4]?.time,
        compute_function_call_id: `${run}.1`,
      });
      await views.equalTheLog(standalone.dataFolder, [ended]);

      await standalone.restart();
      expect(await runApi(standalone).get(run)).toEqual(ended);
      expect((await fetch(picture.url)).status).toBe(200);
    }, 120_000);
  },
);
