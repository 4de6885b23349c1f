/** A sign-in that has gone to the provider. */
interface BegunSignIn {
  /** Sealed. It proves to the service that this page began it. */
  readonly pending: string;
  /** The path to which the person comes back. */
  readonly returnTo: string;
}

/** For pages of this origin, in any tab: some providers go on in another one. A later one replaces it. */
const NAME = 'runledger-begun-sign-in';

export const keepBegunSignIn = (begun: BegunSignIn): void =>
  localStorage.setItem(NAME, JSON.stringify(begun));

/** Undefined when none was begun, or it was taken already. */
export const consumeBegunSignIn = (): BegunSignIn | undefined => {
  const text = localStorage.getItem(NAME);
  localStorage.removeItem(NAME);
  return text === null ? undefined : JSON.parse(text);
};
