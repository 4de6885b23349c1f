import { ConfigError } from '@runledger/service-kit/config';
import type { Isolation, NetworkAccess } from '../isolation/isolation.ts';
import { holdsTcp } from '../isolation/landlock.ts';

/**
 * What keeps programs from the network of the machine. `namespace`: they have one of their own. `landlock`: they share that of the
 * machine, in which the kernel lets them bind no port, and connect by TCP to that of their proxy only, without UDP. `none`: they have the network of the machine.
 */
export type NetworkHold = 'namespace' | 'landlock' | 'none';

export const networkHold = (isolation: Isolation): NetworkHold => {
  if (isolation.kind === 'bubblewrap') return 'namespace';
  const isHeld =
    isolation.kind === 'landlock' && holdsTcp(isolation.version) && isolation.unfiltered === null;
  return isHeld ? 'landlock' : 'none';
};

/** What a program gets of what its entry says, or does not say. */
export const networkInEffect = (isolation: Isolation, wanted: NetworkAccess): NetworkAccess =>
  networkHold(isolation) === 'none' ? 'host' : wanted;

/** In one sentence, for the operator. */
export const describeNetwork = (isolation: Isolation): string => {
  switch (networkHold(isolation)) {
    case 'namespace':
      return 'programs have a network of their own, and reach public addresses through a proxy, unless their entries say otherwise';
    case 'landlock':
      return 'programs bind no port, and reach public addresses through a proxy, unless their entries say otherwise; they share the network of the machine, in which Landlock lets them connect to the port number of their proxy only; bubblewrap would give them one of their own';
    case 'none':
      return 'programs have the network of the machine, with what listens on its loopback: nothing here can take it away';
  }
};

/**
 * For programs whose entries say what nothing holds here. Those that say nothing get the network of the machine.
 * @throws {ConfigError}
 */
export const refuseUnheld = (
  isolation: Isolation,
  entries: readonly { readonly name: string; readonly command: { readonly network?: NetworkAccess } }[],
): void => {
  if (networkHold(isolation) !== 'none') return;
  const unheld = entries.filter(({ command: { network = 'host' } }) => network !== 'host');
  if (unheld.length === 0) return;
  throw new ConfigError(
    unheld.map(({ name, command: { network } }) => ({
      variable: 'EXECUTOR_PROGRAMS',
      wrong: `has ${name}, whose network is "${network}", which nothing holds on this machine`,
      right:
        '"host", or not said, unless programs are isolated by bubblewrap, or by Landlock from Linux 6.7 on: the log says why they are not',
    })),
  );
};
