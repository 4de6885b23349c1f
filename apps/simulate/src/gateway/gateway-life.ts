import type { World } from '../broker/world.ts';
import type { PlannedGateway } from '../plan/plan.ts';
import type { Process, Life } from '../virtual-time.ts';
import { openArchiver } from './archiver.ts';
import { openExpiry } from './expiry.ts';
import { Projection } from './projection.ts';
import { openRecovery } from './recovery.ts';

/** What a gateway does beside its API, from its start until it is killed: it keeps the views, archives facts, and ends runs. */
export class GatewayLife implements Life {
  readonly #projection: Projection;
  readonly #process: Process;

  constructor(world: World, process: Process, planned: PlannedGateway) {
    this.#process = process;
    this.#projection = new Projection(world, process);
    const { archive } = world;
    const { archiveAfterMs } = planned;
    if (archive && archiveAfterMs !== undefined) {
      openArchiver({ ...world, archive }, { process, archiveAfterMs });
    }
    const everyMs = planned.logAgeMs / CHECKS_OF_AGE;
    openRecovery(world, { process, projection: this.#projection, everyMs });
    openExpiry(world, process, { everyMs });
  }

  onRunFact(): void {
    this.#projection.onFact();
  }

  /** It reads on from where it was. */
  onReconnect(): void {
    this.onRunFact();
  }

  stop(onStopped: () => void): void {
    this.#process.after(0, onStopped);
  }
}

/** Several come in the time from which on a run expires until the log forgets it. */
const CHECKS_OF_AGE = 200;
