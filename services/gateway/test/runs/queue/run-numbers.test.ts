import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { streamState } from '@runledger/event-log/read/leader-read';
import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { openRunNumbers } from '../../../src/records/run-numbers.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

const clock = (): number => performance.now();
const numbersOfGateway = () => openRunNumbers(aKit({ log: bed.log, clock }));
const newOrganisation = async (id = newUuid()): Promise<OrgId> => {
  await catalogue(bed.log).createOrganisation({
    id,
    name: 'counted',
    created_at: '2026-01-01T00:00:00.000Z',
  });
  return orgId(id);
};
const countOf = async (org: OrgId) => {
  const bucket = openBucket(bed.log, 'CATALOGUE', Type.Object({ next: Type.Integer() }));
  const entry = await bucket.get(`counts.${org}.runs`);
  if (!entry) throw new Error('The runs of the organisation are not counted.');
  return { next: entry.value.next, revision: entry.revision };
};
const many = <Value>(count: number, make: () => Promise<Value>): Promise<Value[]> =>
  Promise.all(Array.from({ length: count }, make));
const ascending = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other);

describe('the numbers of runs', () => {
  it('go on where an earlier gateway stopped, without a gap', async () => {
    const org = await newOrganisation();
    const first = numbersOfGateway();
    for (const expected of [1, 2, 3, 4]) expect(await first.next(org)).toBe(expected);
    await first[Symbol.asyncDispose]();
    await using second = numbersOfGateway();
    expect(await second.next(org)).toBe(5);
  });

  it('are unique over gateways that count at the same time, and few are left out', async () => {
    const org = await newOrganisation();
    await using one = numbersOfGateway();
    await using other = numbersOfGateway();
    const numbers = (await many(100, () => Promise.all([one.next(org), other.next(org)]))).flat();
    expect(new Set(numbers).size).toBe(200);
    expect(Math.max(...numbers)).toBeLessThan(500);
  });

  it('are given back a second later if they are not used', async () => {
    const org = await newOrganisation();
    await using numbers = numbersOfGateway();
    for (let run = 0; run < 2; run += 1) await numbers.next(org);
    const { next } = await countOf(org);
    const last = await numbers.next(org);
    await waitFor('the rest to be back', async () => (await countOf(org)).next === last + 1);
    expect(next).toBeGreaterThan(0);
    expect(await numbers.next(org)).toBe(last + 1);
  });

  it('of an organisation that was not counted before begin behind the whole log', async () => {
    await using numbers = numbersOfGateway();
    await queueSample(gateway, bed.tenant);
    const org = orgId(newUuid());
    const { state } = await streamState(bed.log, 'RUNS');
    expect(await numbers.next(org)).toBe(state.last_seq + 1);
  });

  it('count the runs of an organisation alone, and are the same in every response', async () => {
    const [busy, quiet]: [Tenant, Tenant] = [await bed.newTenant(), await bed.newTenant()];
    for (const { org_id } of [busy, quiet]) await newOrganisation(org_id);
    const queue = async (tenant: Tenant): Promise<string> =>
      (await post(`${gateway.api}/run/deployment/queue`, tenant.key, { deployment_id: tenant.deployment.id }))
        .body.run_id;
    const numberOf = async (tenant: Tenant, run: string): Promise<number> =>
      (await call(`${gateway.api}/run/${run}`, tenant.key)).body.number;
    const first = await queue(quiet);
    const crowd = await many(40, () => queue(busy));
    const second = await queue(quiet);
    const third = (await post(`${gateway.api}/run/${first}/rerun`, quiet.key, {})).body.run_id;
    const shown = [];
    for (const run of [first, second, third]) shown.push(await numberOf(quiet, run));
    expect(shown).toEqual([1, 2, 3]);
    const ofBusy = ascending(await Promise.all(crowd.map((run) => numberOf(busy, run))));
    expect(new Set(ofBusy).size).toBe(40);
    expect(ofBusy[0]).toBe(1);
    const { body } = await call(`${gateway.api}/runs`, quiet.key);
    const listed: { id: string; number: number }[] = body.runs;
    expect(listed.map(({ id, number }) => [id, number])).toEqual([
      [third, 3],
      [second, 2],
      [first, 1],
    ]);
  });
});
