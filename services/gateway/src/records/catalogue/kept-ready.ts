import type { Deployment } from '@runledger/contracts/catalogue/records';
import {
  MAX_KEPT_READY,
  type KeptVersion,
  type StateOfVersion,
  type WantedReady,
} from '@runledger/contracts/requests/ready-slots';
import { requestKeepReady } from '@runledger/request-reply/ready-slots';
import { signer, type Signer } from '@runledger/webhooks/secret-box';
import { LRUCache } from 'lru-cache';
import type { Kit } from '../../kit.ts';
import type { SchedulerClient } from '../operators/scheduler-client.ts';
import type { Catalogue } from './catalogue.ts';
import { keptSlots, type DeploymentParts } from './deployment-rules.decide.ts';
import { gpusOf } from './deployment.decide.ts';

/** What an executor has of the version of a deployment that it is to have ready. */
interface ReadyOn {
  readonly executor_id: string;
  /** The slots in which it is to be loaded. */
  readonly slots: readonly number[];
  /** Undefined while the executor does not respond. */
  readonly found:
    | { readonly executor: StateOfVersion; readonly slots: readonly StateOfVersion[] }
    | undefined;
}

/**
 * Has the versions of deployments ready before their runs come (`keep_prepared`, `keep_loaded`). The scheduler says where, and executors are told
 * so again and again: what they are told holds for a minute, so nothing is to be undone when a deployment, or this gateway, is gone.
 */
export interface KeptReady {
  /** Before a deployment is stored that has something kept ready, so that `keepAll` finds it, whatever is killed. Nothing for another one. */
  note(deployment: Deployment): Promise<void>;
  /** How many slots an organisation may have kept ready, and those of its other deployments. @throws {LogUnavailable} */
  bound(org_id: string, deployment_id: string | undefined): Promise<DeploymentParts['kept']>;
  /** Tells executors what to have ready for the deployments. One entry for each. @throws {LogUnavailable} @throws {SchedulerUnavailable} */
  keep(deployments: readonly Deployment[]): Promise<readonly (readonly ReadyOn[])[]>;
  /** The same for all deployments of all organisations. @throws {LogUnavailable} @throws {SchedulerUnavailable} */
  keepAll(stop: AbortSignal): Promise<void>;
}

/** How long an executor keeps what it was told to. */
const KEPT_FOR_S = 60;
/** A mark of a deployment that has nothing kept ready may be of one that is being stored. */
const MARK_KEPT_MS = 60_000;
/** Three of four times it may be lost. */
const SAY_EVERY_MS = 15_000;
const MAX_SAID = 10_000;
const EXECUTOR_WITHIN_MS = 2_000;

export const openKeptReady = (kit: Kit, records: Catalogue, scheduler: SchedulerClient): KeptReady => {
  const tokens = preparationTokens(kit);
  const { kept } = records;
  const keyOf = ({ org_id, id }: Pick<Deployment, 'org_id' | 'id'>): string => `kept.${org_id}.${id}`;

  /** What each executor was told, and when. What holds for a while longer is not said again by `keepAll`. */
  const said = new LRUCache<string, string>({ max: MAX_SAID, ttl: SAY_EVERY_MS });

  const keepIf = async (
    deployments: readonly Deployment[],
    isWanted: (executor_id: string, what: string) => boolean,
  ): Promise<readonly (readonly ReadyOn[])[]> => {
    const wanted = await Promise.all(deployments.map((one) => wantedBy(records, one)));
    const ready: ReadyOn[][] = deployments.map(() => []);
    const asked = wanted.flatMap((want, index) => (want === undefined ? [] : [{ want, index }]));
    for (let from = 0; from < asked.length; from += MAX_KEPT_READY) {
      const some = asked.slice(from, from + MAX_KEPT_READY);
      const { places } = await scheduler.readySlots({ wanted: some.map(({ want }) => want) });
      const told = new Map<string, { readonly index: number; readonly version: KeptVersion }[]>();
      for (const [at, { want, index }] of some.entries())
        for (const { executor_id, slots } of places[at] ?? []) {
          const { org_id, workflow_version_id } = want;
          const token = tokens.sign({ org_id, workflow_version_id });
          const version = {
            org_id,
            workflow_version_id,
            deployment_id: deployments[index]?.id ?? '',
            slots,
            token,
          };
          told.set(executor_id, [...(told.get(executor_id) ?? []), { index, version }]);
        }
      await Promise.all(
        [...told].map(async ([executor_id, versions]) => {
          const request = {
            executor_id,
            versions: versions.map(({ version }) => version),
            for_s: KEPT_FOR_S,
          };
          const what = JSON.stringify(versions.map(({ version: { token: _token, ...named } }) => named));
          if (!isWanted(executor_id, what)) return;
          const response = await requestKeepReady(kit.log, request, EXECUTOR_WITHIN_MS);
          if (response !== undefined) said.set(executor_id, what);
          for (const [at, { index, version }] of versions.entries())
            ready[index]?.push({ executor_id, slots: version.slots, found: response?.versions[at] });
        }),
      );
    }
    return ready;
  };

  const deploymentsOf = async (org_id: string): Promise<readonly Deployment[]> =>
    (await records.deployments.all(org_id)).filter((one) => keptSlots(one) > 0);

  return {
    note: async (deployment) => {
      const { org_id, id } = deployment;
      if (keptSlots(deployment) > 0) await kept.put(keyOf(deployment), { org_id, deployment_id: id });
    },
    bound: async (org_id, deployment_id) => {
      const isNone = (await kept.now()).of('org', org_id).length === 0;
      const others = isNone ? [] : (await deploymentsOf(org_id)).filter(({ id }) => id !== deployment_id);
      const limit = kit.config.RUNLEDGER_KEPT_SLOTS_MAX;
      return { limit, others: others.reduce((sum, one) => sum + keptSlots(one), 0) };
    },
    keep: (deployments) => keepIf(deployments, () => true),
    keepAll: async (stop) => {
      const marks = [...(await kept.now()).all()];
      const all: Deployment[] = [];
      for (const [org_id, ofOrg] of Map.groupBy(marks, ({ value }) => value.org_id)) {
        if (stop.aborted) return;
        const deployments = await deploymentsOf(org_id);
        all.push(...deployments);
        const keys = new Set(deployments.map(keyOf));
        const old = kit.now().getTime() - MARK_KEPT_MS;
        for (const { key, revision, changedAt } of ofOrg)
          if (!keys.has(key) && changedAt.getTime() < old) await kept.eraseAt(key, revision);
      }
      if (all.length > 0 && !stop.aborted)
        await keepIf(all, (executor_id, what) => said.get(executor_id) !== what);
    },
  };
};

/** Undefined for a deployment that has nothing kept ready, or lacks a part. */
const wantedBy = async (
  { machines }: Catalogue,
  deployment: Deployment,
): Promise<WantedReady | undefined> => {
  const { org_id, workflow_version_id, labels = [], keep_prepared = 0, keep_loaded = 0 } = deployment;
  if (keptSlots(deployment) === 0) return undefined;
  // Of the whole organisation: the questions of its deployments are one.
  const machine = (await machines.all(org_id)).find(({ id }) => id === deployment.machine_id);
  if (machine?.runner.kind !== 'code') return undefined;
  const { id: machine_id, name: machine_name, runner } = machine;
  const gpus = gpusOf({ deployment, machine });
  const placed = { org_id, gpus, machine_id, machine_name, runner, labels, workflow_version_id };
  return { ...placed, keep_prepared, keep_loaded };
};

/** Names a version that an executor may fetch without a run. */
interface PreparedVersion {
  readonly org_id: string;
  readonly workflow_version_id: string;
}

/** Tokens with which executors fetch versions that they are to have ready. Each is for one version and some minutes. */
export interface PreparationTokens {
  sign(version: PreparedVersion): string;
  verifies(version: PreparedVersion, token: string): boolean;
}

/** An executor that waits for a place in a queue of downloads gets a new one every minute. */
const TOKEN_MS = 10 * 60_000;

export const preparationTokens = ({ config, now }: Kit): PreparationTokens => {
  const signing: Signer = signer(config.RUNLEDGER_SECRET_KEYS, 'preparation');
  const textOf = ({ org_id, workflow_version_id }: PreparedVersion, until: string): string =>
    `${org_id}.${workflow_version_id}.${until}`;
  return {
    sign: (version) => {
      const until = String(now().getTime() + TOKEN_MS);
      return `${until}.${signing.sign(textOf(version, until))}`;
    },
    verifies: (version, token) => {
      const [until = '', signature = '', ...rest] = token.split('.');
      return (
        rest.length === 0 &&
        /^\d{1,15}$/.test(until) &&
        Number(until) > now().getTime() &&
        signing.verifies(textOf(version, until), signature)
      );
    },
  };
};
