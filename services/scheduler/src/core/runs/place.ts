import type { OrgId } from '@runledger/contracts/ids';
import type { Requirements } from '../slots/requirements.ts';
import type { FairShare } from './fair-share.ts';
import type { Flow } from './flow-heap.ts';
import type { Line, OrgUsage } from './usage.ts';

export interface Deployment extends Flow {
  /** Those with waiting runs, by the names of their lines. */
  readonly places: Map<string, Place>;
  /** The run that was queued last, as far as known: the deployment has its weight. */
  newest: number;
  /** Of that run. */
  requirements: Requirements;
}

export interface Organisation extends Flow {
  readonly org_id: OrgId;
  /** Of its runs on all GPU models, as long as it has any. */
  usage: OrgUsage;
  readonly deployments: FairShare<Deployment>;
}

/** Where runs wait for slots of one GPU model, or waited before they got their slots. All runs of a line share it. */
export interface Place extends Line {
  readonly all: readonly Place[];
  /** Those who share the slots of one GPU model. */
  readonly pool: FairShare<Organisation>;
  readonly organisation: Organisation;
  readonly deployment: Deployment;
}
