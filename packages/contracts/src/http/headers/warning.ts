/**
 * Of a response: sentences about what is probably a mistake, such as `unknown body member "inptus"; did you mean "inputs"?`. They are about names in the
 * request that the operation does not know and ignored, inputs that the version does not define, and deployments whose runs no executor could take now.
 * At most eight of each. They have no commas, which separate them: names are percent-encoded where they have other characters than letters, digits and a few marks.
 */
export const WARNING_HEADER = 'Runledger-Warning';
