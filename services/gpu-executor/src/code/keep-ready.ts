import type { Logger } from '@runledger/event-log/connect/observability';
import {
  PreparationDocument,
  type KeepReadyRequest,
  type KeepReadyResponse,
  type KeptVersion,
  type StateOfVersion,
} from '@runledger/contracts/requests/ready-slots';
import { parseJson } from '@runledger/contracts/json';
import { messageOf } from '@runledger/resilience/errors';
import { Value } from 'typebox/value';
import type { GpuSlot } from '../gpu-slots.ts';
import type { OpenRunner, PreparedToKeep } from '../runners/runner-type.ts';
import {
  fetchDocumentAt,
  urlBelow,
  type GatewayPlace,
  type UntilAnswered,
} from '../transfer/attempt-gateway.ts';
import { missingSecret, secretsOf } from '../transfer/fetch-assigned.ts';
import { codeFetcher, modelFetcher } from '../transfer/fetch-stored.ts';
import { failed, type NotPrepared } from './prepared-folders.ts';

/**
 * Has versions ready before their runs come, as the gateway says again and again: prepared, and loaded in slots that nothing else uses. What
 * is not said again for some time is no longer kept, so nobody has to take it back.
 */
export interface ReadyKeeper extends Disposable {
  keep(request: KeepReadyRequest): KeepReadyResponse;
}

interface KeeperSettings {
  readonly keep: NonNullable<OpenRunner['keep']>;
  readonly slots: readonly GpuSlot[];
  /** The slots in which a run executes. */
  readonly busy: () => readonly { readonly slot: number }[];
  readonly gateway: URL;
  readonly log: Logger;
}

/** A version that is kept. */
interface Kept {
  version: KeptVersion;
  untilMs: number;
  readonly stop: AbortController;
  found: 'preparing' | PreparedToKeep | { readonly kind: 'failed'; readonly why: string };
  /** From when on it is prepared, or prepared again. */
  dueMs: number;
}

const LOOK_EVERY_MS = 1_000;
/** After a failure that another try may not repeat, such as of an index, and after any other one. */
const RETRIES_MS = { soon: 60_000, late: 600_000 };
/** So often the secrets of a version are fetched: somebody may have set another value. */
const SECRETS_MS = 60_000;

export const openReadyKeeper = (settings: KeeperSettings): ReadyKeeper => {
  const all = new Map<string, Kept>();
  const end = (id: string, kept: Kept): void => {
    all.delete(id);
    kept.stop.abort();
    if (isReady(kept.found)) kept.found[Symbol.dispose]();
  };
  const timer = setInterval(() => {
    for (const [id, kept] of all) if (kept.untilMs < performance.now()) end(id, kept);
  }, LOOK_EVERY_MS).unref();

  const begin = async (id: string, kept: Kept): Promise<void> => {
    kept.dueMs = Number.POSITIVE_INFINITY;
    const before = isReady(kept.found) ? kept.found : null;
    if (before === null) kept.found = 'preparing';
    const prepared = await prepare(settings, kept);
    if (all.get(id) !== kept) {
      if (prepared.kind === 'kept') prepared[Symbol.dispose]();
    } else if (prepared.kind === 'kept') {
      kept.found = prepared;
      before?.[Symbol.dispose]();
      if (prepared.hasSecrets) kept.dueMs = performance.now() + SECRETS_MS;
    } else {
      const { message: why, retryable } = prepared.kind === 'failed' ? prepared.error : STOPPED;
      // What was prepared before is of use still.
      if (before === null) kept.found = { kind: 'failed', why };
      kept.dueMs = performance.now() + RETRIES_MS[retryable ? 'soon' : 'late'];
    }
  };

  return {
    keep: ({ versions, for_s }) => {
      const now = performance.now();
      const untilMs = now + for_s * 1_000;
      return {
        versions: versions.map((version) => {
          const id = `${version.deployment_id}.${version.workflow_version_id}`;
          const kept: Kept = all.get(id) ?? {
            version,
            untilMs,
            stop: new AbortController(),
            found: 'preparing',
            dueMs: now,
          };
          all.set(id, kept);
          [kept.version, kept.untilMs] = [version, untilMs];
          if (kept.dueMs <= now) void begin(id, kept);
          return statesOf(settings, kept);
        }),
      };
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      for (const [id, kept] of all) end(id, kept);
    },
  };
};

const STOPPED = { message: 'The executor stops.', retryable: true };

const isReady = (found: Kept['found']): found is PreparedToKeep =>
  found !== 'preparing' && found.kind === 'kept';

const statesOf = (
  { slots, busy }: KeeperSettings,
  { version, untilMs, found }: Kept,
): KeepReadyResponse['versions'][number] => {
  if (!isReady(found)) {
    const executor: StateOfVersion =
      found === 'preparing' ? { state: 'preparing', why: null } : { state: 'failed', why: found.why };
    return { executor, slots: version.slots.map(() => executor) };
  }
  const isBusy = new Set(busy().map(({ slot }) => slot));
  return {
    executor: { state: 'prepared', why: null },
    slots: version.slots.map((index) => {
      const slot = slots.find((one) => one.index === index);
      return slot === undefined || isBusy.has(index) ? OCCUPIED : found.load(slot, untilMs);
    }),
  };
};

const OCCUPIED: StateOfVersion = { state: 'occupied', why: null };

const prepare = async (settings: KeeperSettings, kept: Kept): Promise<PreparedToKeep | NotPrepared> => {
  const { log, keep } = settings;
  const { org_id, deployment_id, workflow_version_id } = kept.version;
  const what = { deployment_id, workflow_version_id };
  const { signal } = kept.stop;
  try {
    const gateway = placeOf(settings, kept);
    const document = await fetchDocument(settings, gateway, signal);
    if (document.kind !== 'fetched') return document;
    const version = {
      org_id,
      ...what,
      workflow: document.workflow,
      secrets: document.secrets,
      fetchCode: codeFetcher(settings, gateway),
      fetchKeptModel: modelFetcher(settings, gateway),
    };
    log.info(what, 'a version is prepared before its runs');
    const observe = {
      progress: () => undefined,
      log: ({ line }: { readonly line: string }) => log.debug({ ...what, line }, 'preparing a version'),
    };
    const prepared = await keep(version, observe, signal);
    if (prepared.kind === 'failed')
      log.warn({ ...what, why: prepared.error.message }, 'a version cannot be prepared before its runs');
    return prepared;
  } catch (err) {
    log.error({ ...what, err }, 'a version cannot be prepared before its runs');
    return failed(`The executor could not prepare the version: ${messageOf(err)}.`, true);
  }
};

/** With the token that came last: each is for some minutes. */
const placeOf = ({ gateway }: KeeperSettings, kept: Kept): GatewayPlace => {
  const { org_id, workflow_version_id } = kept.version;
  return {
    about: { workflow_version_id },
    attributes: { 'runledger.org_id': org_id, 'runledger.workflow_version_id': workflow_version_id },
    url: (name, query) => urlBelow(gateway, `preparations/${org_id}/${workflow_version_id}/${name}`, query),
    token: () => Promise.resolve(kept.version.token),
  };
};

type FetchedVersion =
  | {
      readonly kind: 'fetched';
      readonly workflow: unknown;
      readonly secrets: Readonly<Record<string, string>>;
    }
  | NotPrepared;

const fetchDocument = async (
  { log }: KeeperSettings,
  gateway: GatewayPlace,
  stop: AbortSignal,
): Promise<FetchedVersion> => {
  const onRetry: UntilAnswered['onRetry'] = (why, level) =>
    log[level]({ ...gateway.about, why }, 'fetching a version again');
  const answer = await fetchDocumentAt(gateway, 'version', { stop, onRetry });
  if (answer.kind === 'stopped') return answer;
  if (answer.kind !== 'ok') return failed(`The version cannot be fetched: ${answer.why}.`, true);
  const document = parseJson(answer.body.toString('utf8'));
  if (!Value.Check(PreparationDocument, document))
    return failed('The response of the gateway is no document of a version.');
  const { secrets } = document;
  const workflow = parseJson(document.workflow);
  const missing = missingSecret(secretsOf(workflow), secrets);
  return missing === null ? { kind: 'fetched', workflow, secrets } : failed(missing, true);
};
