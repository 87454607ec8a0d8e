"""x"""
def extend(proof,form,feasible,tol): pass
