import type { Heartbeat } from '@runledger/contracts/events/fleet-event';

/** The program that an attempt executes in its slot. */
export interface Program {
  /** Whether it is there already, from a run before. */
  readonly isLoaded: () => boolean;
  /** What was there has to go first. */
  readonly load: () => void;
  readonly onLoaded: () => void;
  /** It crashed, or was killed. */
  readonly onEnded: () => void;
}

/** It ends with its run, and leaves alone what the slot keeps. */
const ENDS_WITH_RUN: Program = {
  isLoaded: () => false,
  load: () => undefined,
  onLoaded: () => undefined,
  onEnded: () => undefined,
};

/** As services/gpu-executor/src/residents: the program that each slot keeps between runs, by its workflow version. */
export class LoadedPrograms {
  readonly #onChange: () => void;
  readonly #versions = new Map<number, string>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** For heartbeats. */
  versions(): NonNullable<Heartbeat['loaded']> {
    return [...this.#versions].map(([slot, workflow_version_id]) => ({ slot, workflow_version_id }));
  }

  programIn(
    slot: number,
    { version, staysLoaded }: { readonly version: string; readonly staysLoaded: boolean },
  ): Program {
    if (!staysLoaded) return ENDS_WITH_RUN;
    const isLoaded = (): boolean => this.#versions.get(slot) === version;
    const remove = (): void => {
      if (this.#versions.delete(slot)) this.#onChange();
    };
    return {
      isLoaded,
      load: remove,
      onLoaded: () => {
        if (isLoaded()) return;
        this.#versions.set(slot, version);
        this.#onChange();
      },
      onEnded: remove,
    };
  }
}
