/** A decision as the fact that it becomes. */
export interface Decided {
  /** The type of the fact, such as RunAssigned. */
  readonly type: string;
  /** What is compared, by its name in the fact: without ids, times and texts. */
  readonly members: Readonly<Record<string, unknown>>;
  /** For people. */
  readonly sentence: string;
}

/** A decision that the slice holds as a fact of its service. */
export interface RecordedDecision extends Decided {
  readonly stream: string;
  readonly position: number;
  /** The broker's, ISO 8601. */
  readonly time: string;
}

/** A decision that the code makes now, in the time of the slice. */
export interface PresentDecision extends Decided {
  /** ISO 8601. */
  readonly time: string;
}

/** What a decision is about: a run or an executor. */
export interface About {
  readonly run_id?: string;
  readonly executor_id?: string;
}

/** What came of comparing a decision with the recorded one. */
export type Verdict = About &
  (
    | { readonly kind: 'equal'; readonly recorded: RecordedDecision; readonly now: PresentDecision }
    | {
        readonly kind: 'different';
        readonly recorded: RecordedDecision;
        readonly now: PresentDecision;
        /** The names of the members that differ. */
        readonly differs: readonly string[];
      }
    /** The code does not decide it. */
    | { readonly kind: 'not_decided'; readonly recorded: RecordedDecision; readonly why: string }
    /** The code decides it, and the slice does not hold it. */
    | { readonly kind: 'not_recorded'; readonly now: PresentDecision; readonly why: string }
    /** The slice does not say enough to compare it. */
    | {
        readonly kind: 'not_compared';
        readonly recorded?: RecordedDecision;
        readonly now?: PresentDecision;
        readonly why: string;
      }
  );

export type Difference = Extract<Verdict, { readonly kind: 'different' | 'not_decided' | 'not_recorded' }>;

export const isDifference = (verdict: Verdict): verdict is Difference =>
  verdict.kind === 'different' || verdict.kind === 'not_decided' || verdict.kind === 'not_recorded';
