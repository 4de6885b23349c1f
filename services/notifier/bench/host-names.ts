/** How a host takes notifications: at once, it accepts them and never answers, it answers 503 until it recovers, or nobody listens there. */
export type Manner = 'healthy' | 'hanging' | 'failing' | 'dead';

/** The number of hosts of each kind. */
export type Hosts = Readonly<Record<Manner, number>>;

/** Each number is a name of its own, and so an origin of its own. */
export const hostName = (manner: Manner, host: number): string => `${manner}-${host}.bench.example`;

export const isHanging = (name: string): boolean => name.startsWith('hanging-');

export const isFailing = (name: string): boolean => name.startsWith('failing-');

export const allNames = (hosts: Hosts): string[] =>
  (['healthy', 'hanging', 'failing', 'dead'] as const).flatMap((manner) =>
    Array.from({ length: hosts[manner] }, (_, host) => hostName(manner, host)),
  );
