import assert from 'node:assert/strict';
import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import type { CoreJudge } from '../../invariants/core-judge.ts';
import { heldSlots, limitAt } from '../../invariants/known-slots.ts';
import { modelsAt } from '../../invariants/placement.ts';
import { isBefore } from '../../invariants/fairness.ts';
import type { ShareOf } from '../../src/core/runs/fair-queue.ts';
import type { KnownRun } from '../../src/core/runs/known-run.ts';
import { canServe, type Requirements } from '../../src/core/requirements.ts';
import type { TestBed } from './test-bed.ts';

/** What queries say after each input, checked from the whole state. Whether the decisions are right, the judge of every core says. */
export class QueryInvariants {
  readonly #bed: TestBed;
  readonly #judge: CoreJudge;
  readonly #shareOf: ShareOf;

  constructor(bed: TestBed, judge: CoreJudge, shareOf: ShareOf) {
    this.#bed = bed;
    this.#judge = judge;
    this.#shareOf = shareOf;
  }

  check(): void {
    this.#queuePositionsAreRight();
    this.#poolsCountRuns();
  }

  /** The GPU models that a waiting run may take now, in order. */
  #modelsOf(run: Run): readonly GpuModel[] {
    return modelsAt(run, this.#judge.clock);
  }

  /** What fair sharing goes by: no run is forgotten, and none is counted that is gone. */
  #poolsCountRuns(): void {
    const { scheduling } = this.#bed;
    const waiting = [...scheduling.runs()].filter((known) => this.#waits(known));
    const { pools } = scheduling.queries.pools({ org_id: null, gpu: null, after: null, limit: 100 });
    for (const { gpu, organisations } of pools)
      for (const { org_id, deployments, ...counted } of organisations) {
        const own = waiting.filter(
          ({ run, requirements }) => requirements.org_id === org_id && this.#modelsOf(run).includes(gpu),
        );
        assert.equal(counted.waiting, own.length, `${org_id} on ${gpu}`);
        for (const { deployment_id, waiting: ofDeployment } of deployments)
          assert.equal(
            ofDeployment,
            own.filter(({ run }) => run.request.deployment_id === deployment_id).length,
            `${deployment_id} on ${gpu}`,
          );
      }
  }

  #waits(known: KnownRun): boolean {
    return known.run.status === 'queued' && !known.decided && this.#modelsOf(known.run).length > 0;
  }

  #queuePositionsAreRight(): void {
    const { scheduling } = this.#bed;
    const runs = [...scheduling.runs()];
    const held = heldSlots(runs);
    const waiting = runs.filter((known) => this.#waits(known));
    for (const { key, run, requirements, decided } of runs) {
      const position = scheduling.queries.queuePosition(key);
      if (run.status !== 'queued') {
        assert.equal(position, undefined);
        continue;
      }
      if (!decided && this.#modelsOf(run).length === 0) {
        assert.deepEqual(position, { ahead: 0, capacity: 'delayed' });
        continue;
      }
      const all = this.#modelsOf(run).map((gpu) => this.#competitionFor({ ...requirements, gpu }, waiting));
      const counted = all.some(({ open }) => open.length > 0)
        ? all.filter(({ open }) => open.length > 0)
        : all;
      const isWaiting = waiting.some((other) => other.run === run);
      const ahead = counted.map(({ competing }) => (isWaiting ? this.#startsBefore(run, competing) : 0));
      assert.equal(position?.ahead, Math.min(...ahead));
      // A run with a decision waits for no model; its first one counts.
      const shown = isWaiting ? all : all.slice(0, 1);
      const [open, able] = [shown.flatMap((one) => one.open), shown.flatMap((one) => one.able)].map((ids) => [
        ...new Set(ids),
      ]);
      assert.ok(open && able);
      const whenOpen = limitAt(held, run, this.#shareOf) ?? 'busy';
      const whenWaiting =
        position?.capacity === 'warm' && run.request.warm_wait_s !== undefined ? 'warm' : whenOpen;
      assert.equal(position?.capacity === whenWaiting, open.length > 0);
      assert.equal(position?.capacity === 'draining', open.length === 0 && able.length > 0);
      const counts = scheduling.queries.waitReason(key)?.executors;
      assert.equal(counts?.serving, open.length);
      assert.equal(counts?.draining, able.length - open.length);
    }
  }

  /** The executors that can execute such a run, those that take it, and the waiting runs that these could execute too. */
  #competitionFor(requirements: Requirements, waiting: readonly KnownRun[]) {
    const able = [...this.#bed.scheduling.executors()].filter(
      ({ lossPending, capabilities }) => !lossPending && canServe(capabilities, requirements),
    );
    const open = able.filter(({ draining, id }) => !draining && !this.#judge.isDrained(executorName(id)));
    const { gpu } = requirements;
    const competing = waiting.filter(
      (other) =>
        this.#modelsOf(other.run).includes(gpu) &&
        (open.length === 0 ||
          open.some(({ capabilities }) => canServe(capabilities, { ...other.requirements, gpu }))),
    );
    return { able, open, competing };
  }

  /** How many runs start before this one when all who wait are served in turn, by weight: played out, run by run. */
  #startsBefore(run: Run, waiting: readonly KnownRun[]): number {
    const left = new Set(waiting);
    const served = new Map<string, number>();
    const next = (flows: ReadonlyMap<string, number>, own: string): string => {
      const tagOf = (name: string): number => (served.get(name) ?? 0) / (flows.get(name) ?? 1);
      return [...flows.keys()].reduce((best, name) => {
        const [lowest, its] = [tagOf(best), tagOf(name)];
        return its < lowest || (its === lowest && name === own) ? name : best;
      });
    };
    for (let started = 0; ; started += 1) {
      const orgs = [...left].map(({ run: { org_id } }) => [org_id, this.#shareOf(org_id).weight] as const);
      const org = next(new Map(orgs), run.org_id);
      const ofOrg = [...left].filter(({ key }) => key.org_id === org);
      const deployments = ofOrg.map((one) => [deploymentOf(one.run), one.run.request.weight ?? 1] as const);
      const deployment = next(new Map(deployments), deploymentOf(run));
      const [first] = ofOrg
        .filter((one) => deploymentOf(one.run) === deployment)
        .toSorted((one, other) => (isBefore(one.run, other.run, Date.parse) ? -1 : 1));
      assert.ok(first);
      if (first.run === run) return started;
      left.delete(first);
      for (const name of [org, deployment]) served.set(name, (served.get(name) ?? 0) + 1);
    }
  }
}

const deploymentOf = ({ org_id, request }: Run): string => `${org_id} ${request.deployment_id}`;
