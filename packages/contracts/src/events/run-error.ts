import { Type, type Static, type TSchema, type TUnsafe } from 'typebox';
import { jsonBytes } from '../json.ts';
import { MAX_ERROR_MESSAGE, MAX_ERROR_NAME } from '../limits.ts';
import { enumInWords, listInWords } from '../schemas.ts';

/**
 * What an executor reports of an attempt. `retryable`: whether the same run may succeed when it is tried again without a
 * change. What observes an error may know better, and then says so.
 */
const ATTEMPT_ERRORS = {
  program_exit: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'The program ended with an exit code other than 0.',
  },
  program_signal: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'A signal ended the program, and neither a cancel nor a time limit sent it.',
  },
  out_of_memory: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'The memory of the machine or of the GPU was not enough.',
  },
  crashed: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'What executed the workflow is gone, and it is not known how it ended.',
  },
  setup_failed: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'What executes the workflow could not be made ready, such as a model that does not load.',
  },
  prepare_failed: {
    end_reason: 'workflow_error',
    retryable: false,
    means:
      'The code of the version could not be made ready: it cannot be unpacked, its packages cannot be installed, or its weights are not what they should be.',
  },
  execution_error: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'The workflow or its model reports an error; `node` says where, if it has nodes.',
  },
  input_unavailable: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'A file of the inputs cannot be fetched.',
  },
  invalid_inputs: {
    end_reason: 'workflow_error',
    retryable: false,
    means: 'The workflow or its model refuses the inputs.',
  },
  invalid_output: {
    end_reason: 'workflow_error',
    retryable: false,
    means: 'An output cannot be understood.',
  },
  no_output: {
    end_reason: 'workflow_error',
    retryable: true,
    means: 'The workflow made no output, and its deployment has `if_no_output` set to `error`.',
  },
  output_too_large: {
    end_reason: 'workflow_error',
    retryable: false,
    means: 'The outputs are more than a run may have.',
  },
  limit_exceeded: {
    end_reason: 'workflow_error',
    retryable: false,
    means: 'It used more of the machine than its operator lets it: it was killed, or it failed.',
  },
  not_runnable: {
    end_reason: 'internal_error',
    retryable: true,
    means: 'The executor cannot execute such a run. Another one, or this one with other settings, may.',
  },
  internal_error: { end_reason: 'internal_error', retryable: true, means: 'An error of the system.' },
  deployment_removed: {
    end_reason: 'deployment_removed',
    retryable: false,
    means: 'The workflow that the run was queued with is gone.',
  },
  storage_full: {
    end_reason: 'storage_full',
    retryable: true,
    means: 'A store of the system is full: the message names it.',
  },
  run_timeout: {
    end_reason: 'run_timeout',
    retryable: false,
    means:
      'An attempt executed longer than `run_timeout_s`, or storing its files took longer than an hour and another one for each GiB.',
  },
  start_deadline: {
    end_reason: 'start_deadline',
    retryable: true,
    means: 'It had not begun to execute when its start deadline was over.',
  },
} as const;

interface LaterError {
  readonly end_reason: typeof END_REASON_OF_OTHERS;
  readonly retryable: boolean;
  readonly means: string;
}

/** What readers of an earlier release derive of a kind that they do not know: a kind that is added here has it, so that all derive the same. */
const END_REASON_OF_OTHERS = 'workflow_error';

/** What an executor reports of an attempt since a later release than the first. */
const LATER_ERRORS = {} as const satisfies Readonly<Record<string, LaterError>>;

/** Every kind of error. It belongs to one end reason and refines it; where the end reason says all, both have the same word. */
const ERRORS = {
  ...ATTEMPT_ERRORS,
  ...LATER_ERRORS,
  executor_lost: {
    end_reason: 'executor_lost',
    retryable: true,
    means: 'The executor sent no more heartbeats.',
  },
  executor_left: {
    end_reason: 'executor_lost',
    retryable: true,
    means: 'The executor was stopped before the attempt ended.',
  },
  no_capacity: {
    end_reason: 'no_capacity',
    retryable: true,
    means: 'No executor that could have executed it was there when its start deadline was over.',
  },
  log_expired: {
    end_reason: 'log_expired',
    retryable: true,
    means: 'Its first facts left the log, because of their age, before it had ended.',
  },
} as const;

type ErrorKind = keyof typeof ERRORS;
export type FailureReason = (typeof ERRORS)[ErrorKind]['end_reason'];
export type AttemptErrorKind = keyof (typeof ATTEMPT_ERRORS & typeof LATER_ERRORS);

declare const ofLaterRelease: unique symbol;
/** A kind that a later release has added. An executor may be newer than whoever reads what it reports, and a run's end is never lost for that. */
export type LaterKind = string & { readonly [ofLaterRelease]: true };

export const isRetryableKind = (kind: ErrorKind): boolean => ERRORS[kind].retryable;

type EndReasonOf<Kind> = Kind extends ErrorKind
  ? (typeof ERRORS)[Kind]['end_reason']
  : typeof END_REASON_OF_OTHERS;

export const endReasonOf = <Kind extends ErrorKind | LaterKind>(kind: Kind): EndReasonOf<Kind> =>
  // The compiler does not see which of both the kind is.
  (Object.hasOwn(ERRORS, kind)
    ? ERRORS[kind as ErrorKind].end_reason
    : END_REASON_OF_OTHERS) as EndReasonOf<Kind>;

/** Where or how it went wrong, as far as the kind has it. */
const details = {
  exit_code: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 255,
      description: 'The exit code of a program; only present when that was the error.',
      examples: [1],
    }),
  ),
  signal: Type.Optional(
    Type.String({
      pattern: '^SIG[A-Z0-9]{1,12}$',
      description: 'The signal that ended a program; only present when one did.',
      examples: ['SIGSEGV'],
    }),
  ),
  node: Type.Optional(
    Type.String({
      maxLength: MAX_ERROR_NAME,
      description: 'The node of the workflow that failed; only present when it is known.',
      examples: ['KSampler'],
    }),
  ),
};

// The keys are those kinds.
export const meaningsOf = <Kind extends ErrorKind>(kinds: readonly Kind[]): Record<Kind, string> =>
  Object.fromEntries(kinds.map((kind) => [kind, ERRORS[kind].means])) as Record<Kind, string>;

const errorWith = <Kind extends TSchema>(kind: Kind) =>
  Type.Object(
    {
      message: Type.String({
        maxLength: MAX_ERROR_MESSAGE,
        description:
          'What happened, for people. After its first line come the last lines that a program wrote to its standard error.',
        examples: ['The program render-image ended with exit code 1.'],
      }),
      kind,
      ...details,
      retryable: Type.Boolean({
        description: 'Whether the same run may succeed when it is queued again without a change.',
        examples: [true],
      }),
    },
    {
      title: 'RunError',
      description:
        'Why a run or an attempt failed or timed out. Of an attempt that another one followed, the message is at most 512 bytes.',
    },
  );

// The keys of a literal are its names.
const ATTEMPT_ERROR_KINDS = Object.keys({ ...ATTEMPT_ERRORS, ...LATER_ERRORS }) as AttemptErrorKind[];
export const ERROR_KINDS = Object.keys(ERRORS) as ErrorKind[];

const ABOUT_KIND = 'What went wrong. Each belongs to one `end_reason`. Later releases may add kinds';

/** A kind in a fact or a record, where it may be one of a later release: any word. */
const storedKind = <Kind extends ErrorKind>(
  kinds: readonly Kind[],
  description: string,
): TUnsafe<Kind | LaterKind> =>
  Type.Unsafe<Kind | LaterKind>(
    Type.String({
      pattern: '^[a-z][a-z0-9_]{0,31}$',
      description: listInWords(description, meaningsOf(kinds)),
    }),
  );

/** A kind as the API documents it. */
const documentedKind = <Kind extends ErrorKind>(
  kinds: readonly Kind[],
  description: string,
): TUnsafe<Kind | LaterKind> =>
  Type.Unsafe<Kind | LaterKind>(enumInWords(meaningsOf(kinds), { description }));

/** Kinds that services alone know: no executor reports one. */
const OF_SERVICES = ERROR_KINDS.filter(
  (kind) => !Object.hasOwn(ATTEMPT_ERRORS, kind) && !Object.hasOwn(LATER_ERRORS, kind),
);

/** In a fact. */
export const AttemptError = errorWith({
  ...storedKind(ATTEMPT_ERROR_KINDS, `${ABOUT_KIND}.`),
  not: { enum: OF_SERVICES },
});
export type AttemptError = Readonly<Static<typeof AttemptError>>;
/** In the API. */
export const RunError = errorWith(
  documentedKind(
    ERROR_KINDS,
    `${ABOUT_KIND}, and while the system is updated a run may have one that is not in this list: it belongs to \`${END_REASON_OF_OTHERS}\`.`,
  ),
);
export type RunError = Readonly<Static<typeof RunError>>;
/** In a stored state of a run. */
export const StoredRunError = errorWith(storedKind(ERROR_KINDS, `${ABOUT_KIND}.`));

type Details = Partial<Pick<RunError, 'exit_code' | 'signal' | 'node' | 'retryable'>>;

/** An error with the message as it is; see `errorMessage`. */
export const errorOf = <Kind extends ErrorKind>(
  kind: Kind,
  message: string,
  known: Details = {},
): Omit<RunError, 'kind'> & { readonly kind: Kind } => ({
  message,
  kind,
  ...known,
  retryable: known.retryable ?? ERRORS[kind].retryable,
});

/** The beginning of a message, with at most so many bytes as JSON; as many as an event may have. No character is cut in two. */
export const errorMessage = (text: string, maxBytes = MAX_ERROR_MESSAGE): string => {
  const characters = Array.from(text.slice(0, maxBytes).toWellFormed());
  let left = maxBytes;
  const over = characters.findIndex((character) => {
    left -= jsonBytes(character) - QUOTES;
    return left < 0;
  });
  return (over === -1 ? characters : characters.slice(0, over)).join('');
};

const QUOTES = 2;

/** The kinds of errors after which a deployment may have another attempt; for the others it would be in vain, or the time of the run is over. */
export const RETRY_KINDS = ATTEMPT_ERROR_KINDS.filter(
  (kind) => isRetryableKind(kind) && kind !== 'start_deadline',
);
/** As the API documents it. */
export const RetryOn = Type.Array(documentedKind(RETRY_KINDS, 'A kind of error.'), {
  maxItems: RETRY_KINDS.length,
  uniqueItems: true,
});

/** In a fact or a record: a later release may know more kinds. */
export const StoredRetryOn = Type.Array(storedKind(RETRY_KINDS, 'A kind of error.'), {
  maxItems: 64,
  uniqueItems: true,
});

const FIRST_WAIT_S = 2;
/** Seconds between two attempts, at most. */
export const MAX_RETRY_AFTER_S = 300;

interface RetryPolicy {
  /** The number of the attempt that failed. */
  readonly attempt: number;
  /** None for the last attempt of a run. */
  readonly retry_on?: readonly AttemptError['kind'][];
}

/**
 * Seconds after which the run may begin another attempt; null when it may not. They double with each attempt, and vary by half
 * of it, so that runs that failed together do not come back together. `random` is from 0 to 1.
 */
export const retryAfterS = (
  { kind, retryable }: AttemptError,
  { attempt, retry_on = [] }: RetryPolicy,
  random: number,
): number | null => {
  if (!retryable || !retry_on.includes(kind)) return null;
  const longest = Math.min(FIRST_WAIT_S * 2 ** (attempt - 1), MAX_RETRY_AFTER_S);
  return Math.round(longest * (0.5 + random / 2) * 1_000) / 1_000;
};
