import type { NatsConnection } from '@nats-io/transport-node';

/** Says after each update whether a server has left the cluster, by what the connected server advertises. */
export const serversOfCluster = (
  nc: Pick<NatsConnection, 'info'>,
): { readonly hasOneLeft: () => boolean } => {
  const present = (): ReadonlySet<string> => new Set(nc.info?.connect_urls);
  let known = present();
  return {
    hasOneLeft: () => {
      const before = known;
      known = present();
      return !known.isSupersetOf(before);
    },
  };
};
