import { aRun, assigned, queued, started } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { archiveGauges } from '../../src/gateway-gauges.ts';
import type { Kit } from '../../src/kit.ts';
import { aKit } from '../fixtures/gateway/a-kit.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../fixtures/runs/forgotten-log.ts';
import { archiveAll, archiving, catchUp, damage } from './archived-runs.ts';

/** Undefined for a gauge without a value. */
const valueOf = async ({ metrics }: Kit, name: string): Promise<number | undefined> => {
  const shown = await metrics.registry.getSingleMetricAsString(`runledger_gateway_archive_${name}`);
  const [, value] = /^runledger_gateway_archive_\S* (\S+)$/m.exec(shown) ?? [];
  return value === undefined ? undefined : Number(value);
};

it('gauges of the archive say how old what it lacks is, and which organisations are behind for how long', async () => {
  await using test = await aLog();
  const { log } = test;
  const kit = aKit({ log });
  let isProjecting = true;
  archiveGauges(kit, () => isProjecting);
  const shown = () =>
    Promise.all(['lag_seconds', 'organisations_behind', 'behind_seconds'].map((name) => valueOf(kit, name)));
  const run = aRun();
  await appendAll(log, queued(run), assigned(run));
  // Nothing is archived, and nobody knows yet from where on.
  expect(await shown()).toEqual([undefined, 0, 0]);
  await archiveAll(log);
  await waitFor('a log that is archived', async () => (await valueOf(kit, 'lag_seconds')) === 0);
  await untilOlder(log);
  const third = await appendAll(log, started(run));
  await waitFor('a lag', async () => ((await valueOf(kit, 'lag_seconds')) ?? 0) > 0);

  const restore = await damage(log, run);
  await forgetBefore(log, third);
  await archiveAll(log);
  await waitFor('a time behind', async () => ((await valueOf(kit, 'behind_seconds')) ?? 0) > 0);
  expect(await valueOf(kit, 'organisations_behind')).toBe(1);
  isProjecting = false;
  expect(await shown()).toEqual([undefined, undefined, undefined]);
  isProjecting = true;
  await restore();
  await catchUp(log);
  expect((await shown()).slice(1)).toEqual([0, 0]);
  expect(await archiving(log).archive(run)).toBe(third);
});
