import { randomBytes } from 'node:crypto';
import type { DeliveredMessage } from '@runledger/event-log/read/stored-message';
import { newUuid } from '@runledger/contracts/ids';
import { publish, type Published } from '@runledger/event-log/append/publish';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { pullInOrder, type Pulling } from '@runledger/event-log/follow/pull-in-order';
import { lastMessage } from '@runledger/event-log/read/leader-read';

const STREAM = 'KV_LEASES';
const CALL_WITHIN_MS = 1_000;
const utf8 = new TextEncoder();
const text = new TextDecoder();

const MEMBER = /^[\w-]+$/;
const KEY = /^(member|partition)\.([\w-]+)$/;

/** A name that is used once. `holder` is for people. */
export const newMemberName = (holder: string): string =>
  `${holder.replaceAll(/[^\w-]/g, '_')}-${randomBytes(6).toString('hex')}`;

/** The name of a member's lease. */
export const membershipLease = (service: string, member: string): string => `${service}.member.${member}`;

/** The members of a service and their claims to partitions, as the broker stores them. Every write is fenced. */
export interface PartitionRegistry extends AsyncDisposable {
  /** Resolves when the registry can no longer be read. */
  readonly failed: Promise<Error>;
  /** Whether everything that is stored has been read. */
  isComplete(): boolean;
  /** The members whose membership has not ended, including processes whose death is not known yet. */
  members(): string[];
  /** Whether a membership has ended for certain, so that its claims are free. */
  hasEnded(member: string): boolean;
  claim(partition: number): Claim | undefined;
  /** Replaces the claim at `revision`; an empty holder gives it back. The new revision, or false if there is another claim. */
  write(partition: number, holder: string, revision: number): Promise<number | false>;
  /** Ends the memberships of other processes that were not renewed within this time. @throws {LogUnavailable} */
  endUnresponsive(ttlMs: number, isOther: (member: string) => boolean): Promise<void>;
  /** Ends a membership that its holder has lost. @throws {LogUnavailable} */
  end(member: string): Promise<void>;
  /** Reads the memberships of unknown holders. @throws {LogUnavailable} */
  lookUpHolders(): Promise<void>;
  /** Removes memberships whose end every process knows by now. @throws {LogUnavailable} */
  removeEnded(ttlMs: number): Promise<void>;
}

/** @throws {LogUnavailable} at the start */
export const openPartitionRegistry = async (
  log: EventLog,
  service: string,
  onChange: () => void,
): Promise<PartitionRegistry> => {
  const prefix = `$KV.LEASES.${service}.`;
  const view = registryView(onChange);
  const reading = await readInto(log, prefix, view, onChange);
  const stopListening = log.onReconnect(view.restartWaiting);
  const end = (member: string): Promise<void> => endMembership(log, service, view, member);
  return {
    failed: reading.failed,
    isComplete: () => reading.isComplete() && log.connected(),
    members: () => [...view.members.keys()],
    hasEnded: (member) => view.ended.has(member),
    claim: (partition) => view.claims.get(partition),
    write: async (partition, holder, revision) => {
      const written = await store(log, `${prefix}partition.${partition}`, holder, revision);
      if (written.kind === 'conflict') return false;
      view.noteClaim(partition, { holder, revision: written.sequence });
      return written.sequence;
    },
    endUnresponsive: async (ttlMs, isOther) => {
      const now = performance.now();
      const late = [...view.members].filter(([member, { since }]) => isOther(member) && now - since >= ttlMs);
      await Promise.all(late.map(([member]) => end(member)));
    },
    end,
    lookUpHolders: async () => {
      const holders = new Set([...view.claims.values()].map(({ holder }) => holder));
      const isUnknown = (one: string): boolean =>
        one !== '' && !view.members.has(one) && !view.ended.has(one);
      for (const member of [...holders].filter(isUnknown)) {
        const last = await lastMessage(log, STREAM, `${prefix}member.${member}`, CALL_WITHIN_MS);
        view.noteMember(member, last?.seq ?? 0, last !== null && last.data.byteLength > 0);
      }
    },
    removeEnded: (ttlMs) => removeEnded(log, prefix, view, ttlMs),
    [Symbol.asyncDispose]: async () => {
      stopListening();
      await reading[Symbol.asyncDispose]();
    },
  };
};

const readInto = async (
  log: EventLog,
  prefix: string,
  view: RegistryView,
  onChange: () => void,
): Promise<Pulling & { isComplete(): boolean }> => {
  let isComplete = false;
  const take = async (messages: readonly DeliveredMessage[]): Promise<void> => {
    for (const message of messages) {
      const [, kind, key = ''] = KEY.exec(message.subject.slice(prefix.length)) ?? [];
      const holder = text.decode(message.data);
      if (kind === 'member') view.noteMember(key, message.sequence, holder !== '');
      if (kind === 'partition') {
        view.noteClaim(Number(key), {
          holder: MEMBER.test(holder) ? holder : '',
          revision: message.sequence,
        });
      }
      if (message.pending > 0 || isComplete) continue;
      isComplete = true;
      onChange();
    }
  };
  const pulling = await pullInOrder(log, {
    stream: STREAM,
    subjects: [`${prefix}>`],
    // Removals are not delivered, so after an interruption everything is read again.
    begin: () => {
      isComplete = false;
      view.clear();
      return { deliver_policy: 'last_per_subject' };
    },
    take,
  });
  return { ...pulling, isComplete: () => isComplete };
};

const store = (log: EventLog, subject: string, holder: string, revision: number): Promise<Published> =>
  publish(log, {
    stream: STREAM,
    subject,
    data: utf8.encode(holder),
    id: newUuid(),
    fence: { filter: subject, sequence: revision },
    withinMs: CALL_WITHIN_MS,
  });

const endMembership = async (
  log: EventLog,
  service: string,
  { members, noteMember }: RegistryView,
  member: string,
): Promise<void> => {
  const known = members.get(member);
  if (!known) return;
  // The broker refuses it when the member was renewed in the meantime.
  const written = await store(log, `$KV.LEASES.${membershipLease(service, member)}`, '', known.revision);
  if (written.kind === 'stored') {
    log.logger.info({ service, member }, 'a member is unresponsive; its partitions are free');
    noteMember(member, written.sequence, false);
  } else if (written.head === 0) {
    noteMember(member, 0, false);
  } else {
    members.set(member, { revision: known.revision, since: performance.now() });
  }
};

const removeEnded = async (
  log: EventLog,
  prefix: string,
  { ended }: RegistryView,
  ttlMs: number,
): Promise<void> => {
  for (const [member, { revision, since }] of ended) {
    if (performance.now() - since < ttlMs) continue;
    const filter = `${prefix}member.${member}`;
    const upTo = { filter, seq: revision + 1 };
    await callBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, upTo), CALL_WITHIN_MS);
    ended.delete(member);
  }
};

interface Claim {
  /** Empty when it was given back. */
  readonly holder: string;
  readonly revision: number;
}

interface Observation {
  readonly revision: number;
  /** On the monotonic clock: when this process saw the revision, or the broker again. */
  readonly since: number;
}

/** What this process has read of a service's members and of their claims to partitions. It may be out of date. */
interface RegistryView {
  readonly members: Map<string, Observation>;
  /** Memberships that have ended for certain. */
  readonly ended: Map<string, Observation>;
  readonly claims: Map<number, Claim>;
  readonly noteMember: (member: string, revision: number, isAlive: boolean) => void;
  readonly noteClaim: (partition: number, claim: Claim) => void;
  /** No member could renew its membership while the broker was unavailable. */
  readonly restartWaiting: () => void;
  readonly clear: () => void;
}

const registryView = (onChange: () => void): RegistryView => {
  const members = new Map<string, Observation>();
  const ended = new Map<string, Observation>();
  const claims = new Map<number, Claim>();
  return {
    members,
    ended,
    claims,
    noteMember: (member, revision, isAlive) => {
      // A name is used once, and messages may arrive late.
      if (isAlive && ended.has(member)) return;
      const wasAlive = members.has(member);
      if (!isAlive) members.delete(member);
      (isAlive ? members : ended).set(member, { revision, since: performance.now() });
      if (isAlive !== wasAlive) onChange();
    },
    noteClaim: (partition, claim) => {
      const known = claims.get(partition);
      // This process knows its own writes before it reads them.
      if (known && known.revision >= claim.revision) return;
      claims.set(partition, claim);
      if (known?.holder !== claim.holder) onChange();
    },
    restartWaiting: () => {
      for (const [member, { revision }] of members)
        members.set(member, { revision, since: performance.now() });
    },
    clear: () => {
      for (const known of [members, ended, claims]) known.clear();
    },
  };
};
