import { arch } from 'node:process';
import type { SupervisorSetup } from '../isolation/restrict-supervisor.ts';
import { openSystemCalls } from '../isolation/system-calls.ts';
import { socketFilter } from './core/socket-filter.ts';

/**
 * From now on, what this thread starts, without new privileges, makes no socket that is a way past its network. A namespace does not separate sockets
 * to the hypervisor (vsock); Landlock asks for neither Multipath TCP, nor TCP Fast Open, nor UDP.
 */
export const restrictSockets = ({
  isolation,
  network,
}: Pick<SupervisorSetup, 'isolation' | 'network'>): void => {
  if (isolation === null || network === 'host') return;
  const filter = socketFilter(isolation.openable === null ? 'own_network' : 'tcp', arch);
  if (filter !== null) openSystemCalls().filter(filter);
};
