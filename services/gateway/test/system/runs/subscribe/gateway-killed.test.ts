import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../../fixtures/runs/appended-facts.ts';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import { openEventSource, readToEnd } from '../../../runs/subscribe/an-event-source.ts';

/** Processes start. */
const SLOW = { timeout: 60_000 };

describe('a gateway that is killed while it streams a run', SLOW, () => {
  it('has sent each fact once, and the next gateway continues after the last', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const environment = { ...bed.nats.env, RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: ':memory:' };
    const { key, org_id } = bed.tenant;
    const run = aRun(org_id);
    await appendAll(bed.log, queued(run), assigned(run));

    const first = open.use(await startGatewayProcess(environment));
    const cut = await openEventSource(`${first.api}/run/${run.run_id}/events`, key);
    await waitFor('the facts until now', () => cut.facts().length === 2);
    await appendAll(bed.log, started(run));
    await waitFor('the next fact', () => cut.facts().length === 3);
    first.kill('SIGKILL');
    await first.exit();
    await appendAll(bed.log, succeeded(run));

    const next = open.use(await startGatewayProcess(environment));
    const after = cut.facts().at(-1)?.id ?? '';
    const rest = await readToEnd(`${next.api}/run/${run.run_id}/events`, key, { after });
    const whole = await readToEnd(`${next.api}/run/${run.run_id}/events`, key);
    expect([...cut.facts(), ...rest.facts()]).toEqual(whole.facts());
    expect(whole.facts().map(({ data }) => data.type)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunSucceeded',
    ]);
  });
});
