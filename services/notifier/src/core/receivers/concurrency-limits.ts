import { SOON_MS, type Lane, type Standing } from './receiver-queues.ts';

/** One try that is being made. */
interface Flight {
  readonly lane: Lane;
  /** Monotonic, in milliseconds. */
  readonly since: number;
  /** That of the lane when it began; suspect once it is slow. */
  standing: Standing;
}

/**
 * The places of all receivers together. Whoever has not proven to answer soon may take up half of them, and one
 * organisation's half of these; of either, suspects three quarters, so that newcomers need not wait for time-outs.
 */
export interface Places {
  readonly inFlight: number;
  readonly hasFree: boolean;
  hasFreeFor(standing: Standing): boolean;
  hasFreeOf(org: string, standing: Standing): boolean;
  atOrigin(origin: string): number;
  take(lane: Lane, now: number): Flight;
  leave(flight: Flight): void;
  /** Who does not answer soon is suspect from then on, or those who fall silent together would take every place. */
  lookForSlow(now: number): void;
}

export const openPlaces = (most: number): Places => {
  const atOrigin = new Map<string, number>();
  const all = openShare(most / 2);
  const ofOrg = new Map<string, Share>();
  /** Those that are not suspect, the oldest first. */
  const trusted = new Set<Flight>();
  let inFlight = 0;

  const count = ({ lane, standing }: Flight, by: 1 | -1): void => {
    const { org_id } = lane.receiver;
    const own = ofOrg.get(org_id) ?? openShare(most / 4);
    all.count(standing, by);
    own.count(standing, by);
    if (own.isEmpty) ofOrg.delete(org_id);
    else ofOrg.set(org_id, own);
  };
  return {
    get inFlight() {
      return inFlight;
    },
    get hasFree() {
      return inFlight < most;
    },
    hasFreeFor: (standing) => all.hasFreeFor(standing),
    hasFreeOf: (org, standing) => ofOrg.get(org)?.hasFreeFor(standing) ?? true,
    atOrigin: (origin) => atOrigin.get(origin) ?? 0,
    take: (lane, since) => {
      const flight: Flight = { lane, since, standing: lane.standing };
      inFlight += 1;
      lane.inFlight += 1;
      add(atOrigin, lane.receiver.origin, 1);
      count(flight, 1);
      if (flight.standing !== 'suspect') trusted.add(flight);
      return flight;
    },
    leave: (flight) => {
      const { lane } = flight;
      inFlight -= 1;
      lane.inFlight -= 1;
      add(atOrigin, lane.receiver.origin, -1);
      count(flight, -1);
      trusted.delete(flight);
    },
    lookForSlow: (now) => {
      for (const flight of trusted) {
        if (now - flight.since <= SOON_MS) return;
        trusted.delete(flight);
        count(flight, -1);
        flight.standing = 'suspect';
        flight.lane.standing = 'suspect';
        count(flight, 1);
      }
    },
  };
};

/** What those may take that are not proven. */
interface Share {
  readonly isEmpty: boolean;
  hasFreeFor(standing: Standing): boolean;
  count(standing: Standing, by: 1 | -1): void;
}

const openShare = (size: number): Share => {
  const most = Math.max(Math.floor(size), 1);
  const mostSuspects = Math.max(Math.floor((size * 3) / 4), 1);
  const taken = { proven: 0, new: 0, suspect: 0 };
  const unproven = (): number => taken.new + taken.suspect;
  return {
    get isEmpty() {
      return unproven() === 0;
    },
    hasFreeFor: (standing) =>
      standing === 'proven' || (unproven() < most && (standing === 'new' || taken.suspect < mostSuspects)),
    count: (standing, by) => {
      taken[standing] += by;
    },
  };
};

const add = (counts: Map<string, number>, key: string, by: number): void => {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
};
