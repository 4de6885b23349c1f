export interface Claim {
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
export interface RegistryView {
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

export const registryView = (onChange: () => void): RegistryView => {
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
