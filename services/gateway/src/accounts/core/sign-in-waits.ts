/** Failed sign-ins with one e-mail, or from one address. */
export interface FailedSignIns {
  /** How many counted at the time of the last one. It is forgotten bit by bit, so this is no whole number. */
  readonly failures: number;
  /** When the last one failed, in milliseconds since 1970, by the broker's clock. */
  readonly at: number;
}

const MS = 1_000;
const FIRST_WAIT_S = 5;
const LONGEST_WAIT_S = 60;
/** Whoever mistypes a password now and then never waits, however many others sign in from the same address. */
const ONE_FORGOTTEN_IN_S = 30;

/** With one failure more. */
export const failedAgain = (present: FailedSignIns | undefined, now: number): FailedSignIns => {
  const left = present ? present.failures - Math.max(0, now - present.at) / (ONE_FORGOTTEN_IN_S * MS) : 0;
  return { failures: Math.max(0, left) + 1, at: now };
};

/** The whole seconds to wait after so many failures: none while `free` were not used up, then 5, 10, 20 and so on, 60 at most. */
export const waitS = (failures: number, free: number): number => {
  const begun = Math.ceil(failures);
  return begun < free ? 0 : Math.min(FIRST_WAIT_S * 2 ** (begun - free), LONGEST_WAIT_S);
};

/** The whole seconds that are left to wait at a time; 0 when another try may begin. */
export const waitLeftS = ({ failures, at }: FailedSignIns, now: number, free: number): number =>
  Math.max(0, Math.ceil((at + waitS(failures, free) * MS - now) / MS));
