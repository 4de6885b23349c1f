/** A stream, as its leader sees it. */
interface LedStream {
  readonly name: string;
  readonly wanted: number;
  /** The brokers whose copies have everything that the leader has; it is one of them. */
  readonly current: readonly string[];
  /** The brokers that hold copies, or should. */
  readonly holders: readonly string[];
}

/** What a broker says of itself. */
export interface BrokerState {
  readonly name: string;
  /** Of the cluster; undefined unless it leads it. */
  readonly members: readonly string[] | undefined;
  readonly led: readonly LedStream[];
  /** The names of all streams of which it has copies. */
  readonly streams: readonly string[];
}

/** With fewer, the log stops as soon as one is away. */
const FEWEST = 3;

/** Why a broker cannot be taken out of the cluster; undefined: it can. */
export const whyNotRemovable = (name: string, brokers: readonly BrokerState[]): string | undefined => {
  const members = membersOf(brokers);
  if (!members)
    return 'The brokers have no leader, because fewer than a majority of them run. Start them first.';
  const runs = (member: string): boolean => brokers.some((broker) => broker.name === member);
  if (!members.includes(name))
    return `${name} is not in the cluster. It has ${members.toSorted().join(', ')}.`;
  if (runs(name))
    return `${name} runs. Only a broker that never comes back is removed: stop it first, and keep it stopped.`;
  if (members.length <= FEWEST)
    return (
      `Without ${name} there would be ${members.length - 1} brokers, and the log would stop as soon as one of them is away. Start a new ` +
      `one under the name ${name}, and it takes its place: nothing has to be removed. Or start one with another name first.`
    );
  const away = members.filter((member) => member !== name && !runs(member));
  if (away.length > 0) return `${away.join(', ')} is away too. Start it first.`;
  const missing = incompleteStreams(brokers, [name]);
  if (missing.length > 0)
    return `Copies are missing of ${missing.join(', ')}. Wait until the others have them.`;
  return undefined;
};

export const membersOf = (brokers: readonly BrokerState[]): readonly string[] | undefined =>
  brokers.find(({ members }) => members)?.members;

/** The streams without a leader, and those that lack copies at other brokers than these. */
export const incompleteStreams = (
  brokers: readonly BrokerState[],
  without: readonly string[] = [],
): readonly string[] => {
  const led = new Map(brokers.flatMap((broker) => broker.led.map((stream) => [stream.name, stream])));
  const names = new Set(brokers.flatMap(({ streams }) => streams));
  const isComplete = (name: string): boolean => {
    const { wanted = Infinity, holders = [], current = [] } = led.get(name) ?? {};
    const gone = without.filter((broker) => holders.includes(broker));
    return current.filter((broker) => !without.includes(broker)).length >= wanted - gone.length;
  };
  return [...names].filter((name) => !isComplete(name)).toSorted();
};
